//! One of several texts.

use llguidance::api::TopLevelGrammar;

use super::read_json;

/// source: a JSON list of texts.
pub fn read(source: &str) -> Result<TopLevelGrammar, String> {
    let texts = read_json(source)?;
    let texts = texts.as_array().filter(|texts| !texts.is_empty()).ok_or("it is no list of texts")?;
    let mut options = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let text = text.as_str().ok_or_else(|| format!("item {index} is no text"))?;
        options.push(literal(text));
    }
    Ok(TopLevelGrammar::from_regex(&options.join("|")))
}

/// The regular expression of one text.
pub fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            out.push_str(&format!("\\x{:02x}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}
