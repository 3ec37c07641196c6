//! The EBNF of xgrammar and llama.cpp (`root ::= ...`) as a grammar of the library, or Lark as it is.
//!
//! What calls itself becomes rules, all else regular expressions: a grammar without recursion is one of them and exact. In
//! a recursive one, each part between recursive rules matches as long a text as it can.

use std::collections::HashMap;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use llguidance::api::TopLevelGrammar;

use super::{check_nesting, choice::literal, MAX_NESTING};

/// Of one regular expression, after rules were put into it.
const MAX_REGEX_BYTES: usize = 256 << 10;
const MAX_REPEATS: u32 = 10_000;

pub fn read(source: &str) -> Result<TopLevelGrammar, String> {
    check_nesting(source)?;
    if !source.contains("::=") {
        return Ok(TopLevelGrammar::from_lark(source.to_owned()));
    }
    let rules = Parser::new(source).rules()?;
    Writer::new(&rules)?.write()
}

#[derive(Debug)]
enum Node {
    /// A regular expression, of a text or a class.
    Regex(String),
    Rule(usize),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
}

struct Rule {
    name: String,
    body: Option<Node>,
    line: usize,
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    depth: usize,
    rules: Vec<Rule>,
    ids: HashMap<String, usize>,
    /// The name of the next rule, found where an item of the one before was looked for.
    next_name: Option<String>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Parser<'a> {
        let chars = source.chars().peekable();
        Parser { chars, line: 1, depth: 0, rules: Vec::new(), ids: HashMap::new(), next_name: None }
    }

    fn rules(mut self) -> Result<Vec<Rule>, String> {
        self.skip();
        let first = self.name()?;
        self.expect_define()?;
        self.next_name = Some(first);
        while let Some(name) = self.next_name.take() {
            let line = self.line;
            let body = self.choice()?;
            if self.next_name.is_none() && self.chars.peek().is_some() {
                return Err(self.unexpected());
            }
            let id = self.id_of(&name, line);
            if self.rules[id].body.is_some() {
                return Err(format!("the rule {name} is defined twice (line {line})"));
            }
            self.rules[id].body = Some(body);
        }
        match self.rules.iter().find(|rule| rule.body.is_none()) {
            Some(rule) => Err(format!("the rule {} is not defined (line {})", rule.name, rule.line)),
            None => Ok(self.rules),
        }
    }

    fn id_of(&mut self, name: &str, line: usize) -> usize {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        self.rules.push(Rule { name: name.to_owned(), body: None, line });
        self.ids.insert(name.to_owned(), self.rules.len() - 1);
        self.rules.len() - 1
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn skip(&mut self) {
        while let Some(c) = self.chars.peek() {
            if *c == '#' {
                while self.chars.peek().is_some_and(|c| *c != '\n') {
                    self.next();
                }
            } else if c.is_whitespace() {
                self.next();
            } else {
                return;
            }
        }
    }

    fn unexpected(&mut self) -> String {
        match self.chars.peek() {
            Some(c) => format!("unexpected {c:?} in line {}", self.line),
            None => format!("unexpected end in line {}", self.line),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let mut name = String::new();
        while let Some(c) = self.chars.peek().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
            name.push(*c);
            self.next();
        }
        if name.is_empty() {
            return Err(self.unexpected());
        }
        Ok(name)
    }

    fn expect_define(&mut self) -> Result<(), String> {
        self.skip();
        for expected in "::=".chars() {
            if self.chars.peek() != Some(&expected) {
                return Err(self.unexpected());
            }
            self.next();
        }
        Ok(())
    }

    fn choice(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(format!("brackets are nested more than {MAX_NESTING} deep in line {}", self.line));
        }
        let mut options = vec![self.sequence()?];
        while self.next_name.is_none() && self.chars.peek() == Some(&'|') {
            self.next();
            options.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(if options.len() == 1 { options.remove(0) } else { Node::Choice(options) })
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut items = Vec::new();
        loop {
            self.skip();
            let Some(c) = self.chars.peek().copied() else { break };
            let item = match c {
                '|' | ')' => break,
                '"' => self.text()?,
                '[' => self.class()?,
                '.' => {
                    self.next();
                    Node::Regex("(?s:.)".into())
                }
                '(' => {
                    self.next();
                    if self.chars.peek() == Some(&'=') {
                        return Err(format!("looking ahead is not supported (line {})", self.line));
                    }
                    let inner = self.choice()?;
                    if self.next_name.is_some() || self.chars.peek() != Some(&')') {
                        return Err(format!("a bracket is not closed in line {}", self.line));
                    }
                    self.next();
                    inner
                }
                _ => {
                    let line = self.line;
                    let name = self.name()?;
                    self.skip();
                    if self.chars.peek() == Some(&':') {
                        self.expect_define()?;
                        self.next_name = Some(name);
                        break;
                    }
                    Node::Rule(self.id_of(&name, line))
                }
            };
            let item = self.repeats(item)?;
            items.push(item);
        }
        Ok(if items.len() == 1 { items.remove(0) } else { Node::Sequence(items) })
    }

    fn repeats(&mut self, mut item: Node) -> Result<Node, String> {
        loop {
            let (least, most) = match self.chars.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => {
                    self.next();
                    let least = self.number()?.unwrap_or(0);
                    self.skip();
                    let most = match self.chars.peek() {
                        Some(',') => {
                            self.next();
                            self.number()?
                        }
                        _ => Some(least),
                    };
                    self.skip();
                    if self.chars.peek() != Some(&'}') || most.is_some_and(|most| most < least) {
                        return Err(self.unexpected());
                    }
                    (least, most)
                }
                _ => return Ok(item),
            };
            self.next();
            item = Node::Repeat(Box::new(item), least, most);
        }
    }

    fn number(&mut self) -> Result<Option<u32>, String> {
        self.skip();
        let mut number = None;
        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(10)) {
            number = Some(number.unwrap_or(0) * 10 + digit);
            if number > Some(MAX_REPEATS) {
                return Err(format!("more than {MAX_REPEATS} repeats in line {}", self.line));
            }
            self.next();
        }
        Ok(number)
    }

    fn text(&mut self) -> Result<Node, String> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(format!("a text does not end in line {}", self.line)),
                Some('"') => return Ok(Node::Regex(literal(&text))),
                Some('\\') => text.push(self.escaped()?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let digits = match self.next() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c) if !c.is_alphanumeric() => return Ok(c),
            _ => return Err(format!("an unknown escape in line {}", self.line)),
        };
        let code = (0..digits).try_fold(0_u32, |code, _| Some(code << 4 | self.next()?.to_digit(16)?));
        code.and_then(char::from_u32).ok_or(format!("an unknown character in line {}", self.line))
    }

    fn class(&mut self) -> Result<Node, String> {
        self.next();
        let mut regex = String::from("[");
        if self.chars.peek() == Some(&'^') {
            self.next();
            regex.push('^');
        }
        let start = regex.len();
        loop {
            let first = match self.next() {
                None | Some('\n') => return Err(format!("a class does not end in line {}", self.line)),
                Some(']') if regex.len() == start => return Err(format!("an empty class in line {}", self.line)),
                Some(']') => break,
                Some('\\') => self.escaped()?,
                Some(c) => c,
            };
            regex.push_str(&literal(&first.to_string()));
            let mut ahead = self.chars.clone();
            if ahead.next() != Some('-') || matches!(ahead.next(), Some(']') | None) {
                continue;
            }
            self.next();
            let last = match self.next() {
                Some('\\') => self.escaped()?,
                Some(c) => c,
                None => continue,
            };
            if last < first {
                return Err(format!("the range {first:?}-{last:?} is empty in line {}", self.line));
            }
            regex.push('-');
            regex.push_str(&literal(&last.to_string()));
        }
        regex.push(']');
        Ok(Node::Regex(regex))
    }
}

/// Writes rules as Lark.
struct Writer<'a> {
    rules: &'a [Rule],
    /// By rule: its regular expression, unless it is recursive.
    regexes: Vec<Option<String>>,
    terminals: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(rules: &'a [Rule]) -> Result<Writer<'a>, String> {
        let mut writer = Writer { rules, regexes: vec![None; rules.len()], terminals: Vec::new() };
        let mut state = vec![State::New; rules.len()];
        for id in 0..rules.len() {
            writer.find_regex(id, &mut state, 0)?;
        }
        Ok(writer)
    }

    /// Post order over the rules that a rule needs; one that needs itself, or a recursive one, stays without.
    fn find_regex(&mut self, id: usize, state: &mut [State], depth: usize) -> Result<(), String> {
        if state[id] != State::New {
            return Ok(());
        }
        if depth > 10 * MAX_NESTING {
            return Err(format!("rules lead to each other more than {} deep", 10 * MAX_NESTING));
        }
        state[id] = State::Open;
        let rules = self.rules;
        let Some(body) = &rules[id].body else { return Ok(()) };
        let mut needed = Vec::new();
        collect_rules(body, &mut needed);
        let mut is_recursive = false;
        for other in needed {
            is_recursive |= state[other] == State::Open;
            self.find_regex(other, state, depth + 1)?;
            is_recursive |= self.regexes[other].is_none();
        }
        if !is_recursive {
            self.regexes[id] = self.regex(body)?;
        }
        state[id] = State::Done;
        Ok(())
    }

    /// None: something in it is recursive.
    fn regex(&self, node: &Node) -> Result<Option<String>, String> {
        let out = match node {
            Node::Regex(regex) => Some(regex.clone()),
            Node::Rule(id) => self.regexes[*id].as_ref().map(|regex| format!("(?:{regex})")),
            Node::Sequence(items) => self.regex_of_all(items, "")?,
            Node::Choice(options) => self.regex_of_all(options, "|")?.map(|regex| format!("(?:{regex})")),
            Node::Repeat(item, least, most) => {
                let most = most.map_or(String::new(), |most| most.to_string());
                self.regex(item)?.map(|regex| format!("(?:{regex}){{{least},{most}}}"))
            }
        };
        match out {
            Some(regex) if regex.len() > MAX_REGEX_BYTES => Err("the grammar is too large".into()),
            out => Ok(out),
        }
    }

    fn regex_of_all(&self, nodes: &[Node], between: &str) -> Result<Option<String>, String> {
        let parts = nodes.iter().map(|node| self.regex(node)).collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(parts.map(|parts| parts.join(between)))
    }

    fn write(mut self) -> Result<TopLevelGrammar, String> {
        let root = self.rules.iter().position(|rule| rule.name == "root").ok_or("there is no rule \"root\"")?;
        if let Some(regex) = &self.regexes[root] {
            return Ok(TopLevelGrammar::from_regex(regex));
        }
        let mut lark = format!("start: r{root}\n");
        for id in 0..self.rules.len() {
            if self.regexes[id].is_none() {
                if let Some(body) = &self.rules[id].body {
                    let body = self.lark(body)?;
                    let _ = writeln!(lark, "r{id}: {body}");
                }
            }
        }
        for (number, regex) in self.terminals.iter().enumerate() {
            let regex = llguidance::regex_to_lark(regex, "");
            let _ = writeln!(lark, "T{number}: /{regex}/ & /(?s:.)+/");
        }
        Ok(TopLevelGrammar::from_lark(lark))
    }

    /// A terminal of what is regular; it may be empty where the expression may.
    fn terminal(&mut self, regex: String) -> Result<String, String> {
        let is_nullable = llguidance::derivre::Regex::new(&regex).map_err(|error| error.to_string())?.is_match("");
        let number = self.terminals.iter().position(|other| *other == regex).unwrap_or_else(|| {
            self.terminals.push(regex);
            self.terminals.len() - 1
        });
        Ok(format!("T{number}{}", if is_nullable { "?" } else { "" }))
    }

    fn lark(&mut self, node: &Node) -> Result<String, String> {
        if let Some(regex) = self.regex(node)? {
            return self.terminal(regex);
        }
        match node {
            Node::Regex(regex) => self.terminal(regex.clone()),
            Node::Rule(id) => Ok(format!("r{id}")),
            Node::Repeat(item, least, most) => {
                let most = most.map_or(String::new(), |most| most.to_string());
                Ok(format!("({}){{{least},{most}}}", self.lark(item)?))
            }
            Node::Sequence(items) => {
                let mut parts = Vec::new();
                let mut run = Vec::new();
                for item in items {
                    match self.regex(item)? {
                        Some(regex) => run.push(regex),
                        None => {
                            self.end_run(&mut run, &mut parts)?;
                            parts.push(self.lark(item)?);
                        }
                    }
                }
                self.end_run(&mut run, &mut parts)?;
                Ok(parts.join(" "))
            }
            Node::Choice(options) => {
                let mut parts = Vec::new();
                let mut regular = Vec::new();
                for option in options {
                    match self.regex(option)? {
                        Some(regex) => regular.push(regex),
                        None => parts.push(self.lark(option)?),
                    }
                }
                if !regular.is_empty() {
                    parts.push(self.terminal(regular.join("|"))?);
                }
                Ok(format!("({})", parts.join(" | ")))
            }
        }
    }

    fn end_run(&mut self, run: &mut Vec<String>, parts: &mut Vec<String>) -> Result<(), String> {
        if !run.is_empty() {
            parts.push(self.terminal(std::mem::take(run).concat())?);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

fn collect_rules(node: &Node, out: &mut Vec<usize>) {
    match node {
        Node::Regex(_) => {}
        Node::Rule(id) => out.push(*id),
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().for_each(|node| collect_rules(node, out)),
        Node::Repeat(node, ..) => collect_rules(node, out),
    }
}
