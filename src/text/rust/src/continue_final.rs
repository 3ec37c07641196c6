//! `continue_final_message`: the prompt ends inside the last message, so that the model continues it. A tag is appended
//! to the message before rendering and everything from the tag on is cut off afterwards.

use minijinja::value::Value;

const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The variables with the tag appended to the text of the last message, and that text.
pub fn tag_final_message(variables: &Value) -> Result<(Value, String), String> {
    let wrong = || "continue_final_message needs a last message with a text".to_owned();
    let messages: Vec<Value> =
        variables.get_attr("messages").ok().and_then(|m| m.try_iter().ok()).ok_or_else(wrong)?.collect();
    let (last, before) = messages.split_last().ok_or_else(wrong)?;
    let content = last.get_attr("content").map_err(|_| wrong())?;
    let (content, text) = if let Some(text) = content.as_str() {
        (Value::from(format!("{text}{TAG}")), text.to_owned())
    } else {
        tag_last_text_part(&content).ok_or_else(wrong)?
    };
    let mut tagged = before.to_vec();
    tagged.push(with_entry(last, "content", content));
    Ok((with_entry(variables, "messages", Value::from(tagged)), text))
}

fn tag_last_text_part(content: &Value) -> Option<(Value, String)> {
    let mut parts: Vec<Value> = content.try_iter().ok()?.collect();
    let part = parts.iter_mut().rev().find(|part| part.get_attr("text").is_ok_and(|text| text.as_str().is_some()))?;
    let text = part.get_attr("text").ok()?.as_str()?.to_owned();
    *part = with_entry(part, "text", Value::from(format!("{text}{TAG}")));
    Some((Value::from(parts), text))
}

pub fn with_entry(map: &Value, name: &str, value: Value) -> Value {
    let keys = map.try_iter().into_iter().flatten();
    Value::from_pairs(keys.map(|key| {
        let entry = if key.as_str() == Some(name) { value.clone() } else { map.get_item(&key).unwrap_or_default() };
        (key, entry)
    }))
}

pub fn cut_after_final_message(text: String, final_text: &str) -> Result<String, String> {
    let missing = "continue_final_message is set but the final message does not appear in the chat after applying \
                   the chat template";
    let at = text.rfind(TAG.trim()).ok_or(missing)?;
    let end = if text[at..].starts_with(TAG) { at } else { text[..at].trim_end().len() };
    if !text[..end].contains(final_text.trim()) {
        return Err(missing.into());
    }
    Ok(text[..end].to_owned())
}
