//! A model's chat template and the requests it renders: which template, which variables, which form of messages.

use minijinja::value::{Value, ValueKind};

use crate::continue_final::{cut_after_final_message, tag_final_message, with_entry};
use crate::json;
use crate::program::Program;

/// Arguments of apply_chat_template that are not variables of the template, or that the request names itself.
const RESERVED: [&str; 5] = ["messages", "conversation", "tools", "chat_template", "tokenize"];

pub struct Chat {
    default: Option<Program>,
    tool_use: Option<Program>,
    specials: Value,
    /// The default template loops over the parts of a content; otherwise contents must be strings.
    takes_parts: bool,
}

impl Chat {
    /// specials: JSON object of the special tokens.
    pub fn new(default: Option<&str>, tool_use: Option<&str>, specials: &str) -> Result<Chat, String> {
        let compile = |source: Option<&str>| source.map(Program::new).transpose();
        Ok(Chat {
            takes_parts: default.or(tool_use).is_some_and(loops_over_content),
            default: compile(default)?,
            tool_use: compile(tool_use)?,
            specials: json::parse(specials)?,
        })
    }

    /// Does any text come of tools? Otherwise a model would never learn of them.
    pub fn reads_tools(&self) -> bool {
        self.tool_use.is_some() || self.default.as_ref().is_some_and(|program| program.reads("tools"))
    }

    pub fn render(&self, request: &str, is_openai: bool, now: Option<i64>) -> Result<String, String> {
        let request = json::parse(request)?;
        if request.kind() != ValueKind::Map {
            return Err("a chat request must be a JSON object".into());
        }
        let messages = entry(&request, "messages");
        let is_list = messages.kind() == ValueKind::Seq;
        if !is_list || messages.len() == Some(0) {
            return Err("messages must be a list with at least one message".into());
        }
        if !is_openai {
            return self.render_messages(&request, messages, now);
        }
        let plain = self.openai_messages(&messages, false);
        let parsed = self.openai_messages(&messages, true);
        // Most templates write the arguments of a tool call with tojson; a few expect the text as it came.
        self.render_messages(&request, parsed, now)
            .or_else(|error| self.render_messages(&request, plain, now).map_err(|_| error))
    }

    fn render_messages(&self, request: &Value, messages: Value, now: Option<i64>) -> Result<String, String> {
        let mut variables = Variables::new(&self.specials);
        variables.read_kwargs(request)?;
        for name in ["tools", "documents"] {
            variables.set_list_of_objects(name, request)?;
        }
        variables.set_flag("add_generation_prompt", request)?;
        variables.set("messages", messages);
        let continues = variables.take_flag("continue_final_message", request)?;
        let program = self.choose(!entry(request, "tools").is_none())?;
        let all = Value::from_pairs(variables.0);
        if !continues {
            return program.run(all, now);
        }
        if entry(&all, "add_generation_prompt").is_true() {
            return Err("continue_final_message and add_generation_prompt are not compatible".into());
        }
        let (all, final_text) = tag_final_message(&all)?;
        cut_after_final_message(program.run(all, now)?, &final_text)
    }

    fn choose(&self, has_tools: bool) -> Result<&Program, String> {
        let special = self.tool_use.as_ref().filter(|_| has_tools);
        special.or(self.default.as_ref()).ok_or_else(|| "the model has no default chat template".into())
    }

    /// Messages as an OpenAI client sends them, in the form that templates expect.
    fn openai_messages(&self, messages: &Value, parse_arguments: bool) -> Value {
        let items = messages.try_iter().into_iter().flatten();
        Value::from(items.map(|message| self.openai_message(&message, parse_arguments)).collect::<Vec<_>>())
    }

    fn openai_message(&self, message: &Value, parse_arguments: bool) -> Value {
        if message.kind() != ValueKind::Map {
            return message.clone();
        }
        let mut entries = Vec::new();
        for key in message.try_iter().into_iter().flatten() {
            let value = message.get_item(&key).unwrap_or_default();
            let value = match key.as_str() {
                Some("content") if value.is_none() => Value::from(""),
                Some("content") if value.kind() == ValueKind::Seq && !self.takes_parts => joined_text(&value),
                Some("tool_calls") if parse_arguments => parsed_calls(&value),
                _ if value.is_none() => continue,
                _ => value,
            };
            entries.push((key, value));
        }
        Value::from_pairs(entries)
    }
}

/// The variables of one rendering; a later entry of the same name wins.
struct Variables(Vec<(String, Value)>);

impl Variables {
    fn new(specials: &Value) -> Variables {
        let mut variables = Variables(Vec::new());
        variables.set_all(specials);
        for (name, value) in [("tools", ()), ("documents", ())] {
            variables.set(name, Value::from(value));
        }
        variables.set("add_generation_prompt", Value::from(false));
        variables
    }

    fn set(&mut self, name: &str, value: Value) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
    }

    fn set_all(&mut self, map: &Value) {
        for key in map.try_iter().into_iter().flatten() {
            // Names that no template can spell are left out: they could only hide the operators' functions.
            let name = key.as_str().filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
            if let Some(name) = name {
                self.set(name, map.get_item(&key).unwrap_or_default());
            }
        }
    }

    fn read_kwargs(&mut self, request: &Value) -> Result<(), String> {
        let kwargs = entry(request, "chat_template_kwargs");
        match kwargs.kind() {
            ValueKind::None => return Ok(()),
            ValueKind::Map => {}
            kind => return Err(format!("chat_template_kwargs must be an object, found {kind}")),
        }
        if let Some(name) = RESERVED.iter().find(|name| !kwargs.get_attr(name).unwrap_or_default().is_undefined()) {
            return Err(format!("chat_template_kwargs must not set {name:?}"));
        }
        self.set_all(&kwargs);
        Ok(())
    }

    fn set_list_of_objects(&mut self, name: &str, request: &Value) -> Result<(), String> {
        let list = entry(request, name);
        if list.is_none() {
            return Ok(());
        }
        let is_list = list.kind() == ValueKind::Seq;
        if !is_list || list.try_iter().into_iter().flatten().any(|item| item.kind() != ValueKind::Map) {
            return Err(format!("{name} must be a list of objects"));
        }
        self.set(name, list);
        Ok(())
    }

    fn set_flag(&mut self, name: &str, request: &Value) -> Result<(), String> {
        let flag = entry(request, name);
        match flag.kind() {
            ValueKind::None => Ok(()),
            ValueKind::Bool => {
                self.set(name, flag);
                Ok(())
            }
            kind => Err(format!("{name} must be true or false, found {kind}")),
        }
    }

    /// A flag that is no variable of the template; also accepted among the kwargs.
    fn take_flag(&mut self, name: &str, request: &Value) -> Result<bool, String> {
        self.set_flag(name, request)?;
        let at = self.0.iter().position(|(other, _)| other == name);
        Ok(at.is_some_and(|at| self.0.remove(at).1.is_true()))
    }
}

/// An entry of a JSON object; absent reads as null.
fn entry(map: &Value, name: &str) -> Value {
    map.get_attr(name).ok().filter(|value| !value.is_undefined()).unwrap_or_else(|| Value::from(()))
}

fn joined_text(parts: &Value) -> Value {
    let parts = parts.try_iter().into_iter().flatten();
    let texts = parts.filter(|part| entry(part, "type").as_str() == Some("text"));
    Value::from(texts.filter_map(|part| entry(&part, "text").to_str()).collect::<Vec<_>>().join(" "))
}

fn parsed_calls(calls: &Value) -> Value {
    if calls.kind() != ValueKind::Seq {
        return calls.clone();
    }
    let parse = |call: Value| {
        let function = entry(&call, "function");
        let arguments = entry(&function, "arguments");
        match arguments.as_str().and_then(|text| json::parse(text).ok()) {
            Some(parsed) => with_entry(&call, "function", with_entry(&function, "arguments", parsed)),
            None => call,
        }
    };
    Value::from(calls.try_iter().into_iter().flatten().map(parse).collect::<Vec<_>>())
}

/// Does a `for` of the template walk through the content of a message?
fn loops_over_content(source: &str) -> bool {
    source.split("{%").skip(1).any(|tag| {
        let tag = tag.split("%}").next().unwrap_or_default();
        let words = tag.trim_start_matches(['-', '+']).trim_start();
        let list = words.strip_prefix("for ").and_then(|rest| rest.split_once(" in ")).map(|(_, list)| list.trim());
        list.is_some_and(|list| {
            let list = list.trim_end_matches('-').split(['|', ' ']).next().unwrap_or_default();
            list == "content"
                || list.ends_with(".content")
                || list.ends_with("['content']")
                || list.ends_with("[\"content\"]")
        })
    })
}
