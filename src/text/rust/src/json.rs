//! JSON text to template values, as Python's `json.loads` does: object order kept, the last of two
//! equal keys wins, integers and floats stay apart, integers beyond 64 bits keep their digits (up to 128 bits).

use minijinja::value::Value;

const MAX_DEPTH: usize = 128;

pub fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at != text.len() {
        return Err(parser.error("the end of the JSON text"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, expected: &str) -> String {
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("{c:?}"),
            None => "the end of the text".into(),
        };
        format!("invalid JSON at byte {}: expected {expected}, found {found}", self.at)
    }

    fn peek(&self) -> u8 {
        *self.text.as_bytes().get(self.at).unwrap_or(&0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, name: &str) -> Result<(), String> {
        self.skip_space();
        if self.peek() != byte || self.at >= self.text.len() {
            return Err(self.error(name));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("JSON is nested deeper than {MAX_DEPTH} levels"));
        }
        self.skip_space();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(Value::from(self.string()?)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, String> {
        let words = [("true", Value::from(true)), ("false", Value::from(false)), ("null", Value::from(()))];
        for (word, value) in words {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("a JSON value"))
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Value::from_pairs(pairs));
        }
        loop {
            self.skip_space();
            if self.peek() != b'"' {
                return Err(self.error("a key in double quotes"));
            }
            let key = self.string()?;
            self.expect(b':', "':'")?;
            pairs.push((Value::from(key), self.value(depth + 1)?));
            self.skip_space();
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(Value::from_pairs(pairs));
                }
                _ => return Err(self.error("',' or '}'")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let mut items: Vec<Value> = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Value::from(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(Value::from(items));
                }
                _ => return Err(self.error("',' or ']'")),
            }
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        let leading = self.peek();
        let digits = self.digits()?;
        if leading == b'0' && digits > 1 {
            self.at = start;
            return Err(self.error("a number without leading zeros"));
        }
        let mut is_float = false;
        if self.peek() == b'.' {
            is_float = true;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            is_float = true;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        if !is_float {
            if let Ok(number) = text.parse::<i64>() {
                return Ok(Value::from(number));
            }
            if let Ok(number) = text.parse::<i128>() {
                return Ok(Value::from(number));
            }
        }
        text.parse::<f64>().map(Value::from).map_err(|error| error.to_string())
    }

    fn digits(&mut self) -> Result<usize, String> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("a digit"));
        }
        Ok(self.at - start)
    }

    fn string(&mut self) -> Result<String, String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(|c: char| c == '"' || c == '\\' || c < ' ');
            let Some(end) = end else {
                self.at = self.text.len();
                return Err(self.error("a closing double quote"));
            };
            out.push_str(&rest[..end]);
            self.at += end;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return Err(self.error("no control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let simple = match self.peek() {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.error("a JSON escape")),
        };
        self.at += 1;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, String> {
        let high = self.hex4()?;
        let code = if (0xD800..0xDC00).contains(&high) {
            if !self.text[self.at..].starts_with("\\u") {
                return Err(self.error("the second half of a surrogate pair"));
            }
            self.at += 1;
            let low = self.hex4()?;
            if !(0xDC00..0xE000).contains(&low) {
                return Err(self.error("the second half of a surrogate pair"));
            }
            0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.error("no lone surrogate"))
    }

    /// Four hexadecimal digits after the 'u' at the current position.
    fn hex4(&mut self) -> Result<u32, String> {
        self.at += 1;
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let Some(digits) = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)) else {
            return Err(self.error("four hexadecimal digits"));
        };
        let code = digits.iter().fold(0, |code, digit| code * 16 + (*digit as char).to_digit(16).unwrap_or(0));
        self.at += 4;
        Ok(code)
    }
}
