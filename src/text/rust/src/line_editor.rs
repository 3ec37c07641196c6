//! A line editor on the terminal: history, several lines, completion of words, pasting of whole texts.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::config::{BellStyle, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};

/// Whether a text is all that the user has to say; else Enter begins a new line of it.
pub type IsComplete = unsafe extern "C" fn(super::FtSpan) -> bool;

pub enum Input {
    Text(String),
    Interrupted,
    End,
    /// Bytes that are no UTF-8 were typed; they are gone.
    Unreadable,
}

struct Guide {
    lines: Vec<String>,
    is_complete: IsComplete,
    is_coloured: bool,
}

impl Helper for Guide {}
impl Hinter for Guide {
    type Hint = String;
}

impl Highlighter for Guide {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _default: bool) -> Cow<'b, str> {
        if self.is_coloured {
            format!("\x1b[1m{prompt}\x1b[m").into()
        } else {
            prompt.into()
        }
    }
}

impl Validator for Guide {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        // SAFETY: the caller of `LineEditor::new` promises a function that reads the span and nothing else.
        let is_complete = unsafe { (self.is_complete)(super::FtSpan { data: text.as_ptr(), size: text.len() }) };
        Ok(if is_complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Guide {
    type Candidate = String;
    fn complete(&self, line: &str, at: usize, _: &Context) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..at];
        if typed.is_empty() {
            return Ok((0, Vec::new()));
        }
        // The next word only: `/s` becomes `/set`, and what can be set comes after it.
        let mut found: Vec<String> = Vec::new();
        for line in self.lines.iter().filter(|line| line.starts_with(typed)) {
            let end = line[at..].find(' ').filter(|&end| end > 0).map_or(line.len(), |end| at + end);
            let word = &line[..end];
            if word.len() > at && found.last().map_or(true, |last| last != word) {
                found.push(word.to_string());
            }
        }
        Ok((0, found))
    }
}

/// Marks a backslash that Enter was pressed behind, as one character with it: pasted ones mean themselves. It takes no
/// place on the screen.
const MARK: &str = "\u{34f}";

/// A backslash at the end of the text, and Enter: a new line in its place.
struct BackslashEnter {
    is_complete: IsComplete,
}

impl ConditionalEventHandler for BackslashEnter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let text = context.line();
        // SAFETY: as in `Guide::validate`.
        let is_complete = unsafe { (self.is_complete)(super::FtSpan { data: text.as_ptr(), size: text.len() }) };
        let continues = is_complete && context.pos() == text.len() && text.ends_with('\\');
        continues.then(|| Cmd::Insert(1, format!("{MARK}\n")))
    }
}

fn without_marks(text: &str) -> String {
    text.replace(&format!("\\{MARK}\n"), "\n").replace(&format!("\\{MARK}"), "\\")
}

pub struct LineEditor {
    editor: Editor<Guide, DefaultHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// `history`: a file that may not exist; empty: none is kept. `lines`: what can be completed, sorted.
    pub fn new(
        history: &str,
        most_entries: usize,
        lines: &str,
        is_complete: IsComplete,
        is_coloured: bool,
    ) -> Result<LineEditor, String> {
        let config = Config::builder()
            .max_history_size(most_entries)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(|error| error.to_string())?
            .history_ignore_space(true)
            .bell_style(BellStyle::None)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_history(config.clone(), DefaultHistory::with_config(&config))
            .map_err(|error| error.to_string())?;
        let lines = lines.lines().map(str::to_string).collect();
        editor.set_helper(Some(Guide { lines, is_complete, is_coloured }));
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            EventHandler::Conditional(Box::new(BackslashEnter { is_complete })),
        );
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let history = (!history.is_empty()).then(|| PathBuf::from(history));
        if let Some(path) = &history {
            // None yet, or one that cannot be read: a chat without its past.
            let _ = editor.load_history(path);
        }
        Ok(LineEditor { editor, history })
    }

    pub fn read(&mut self, prompt: &str) -> Result<Input, String> {
        match self.editor.readline(prompt) {
            Ok(text) => {
                let text = without_marks(&text);
                self.remember(&text);
                Ok(Input::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => Ok(Input::Unreadable),
            Err(error) => Err(error.to_string()),
        }
    }

    fn remember(&mut self, text: &str) {
        if !self.editor.add_history_entry(text).unwrap_or(false) {
            return;
        }
        if let Some(path) = &self.history {
            // What cannot be written, on a full disk, say, is no reason to end the chat.
            let _ = self.editor.history_mut().append(path);
        }
    }
}

/// # Safety
/// Spans must be readable, `error` writable; `is_complete` reads the span that it is given, and does not unwind.
#[no_mangle]
pub unsafe extern "C" fn ft_line_editor_new(
    history: super::FtSpan,
    most_entries: usize,
    lines: super::FtSpan,
    is_complete: IsComplete,
    is_coloured: bool,
    error: *mut super::FtBuffer,
) -> *mut LineEditor {
    super::guard(error, || LineEditor::new(history.text()?, most_entries, lines.text()?, is_complete, is_coloured))
        .map_or(std::ptr::null_mut(), |editor| Box::into_raw(Box::new(editor)))
}

/// # Safety
/// `editor` must come from `ft_line_editor_new` and not have been freed.
#[no_mangle]
pub unsafe extern "C" fn ft_line_editor_free(editor: *mut LineEditor) {
    if !editor.is_null() {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(Box::from_raw(editor))));
    }
}

/// # Safety
/// `editor` must be valid and used by one thread at a time, `prompt` readable, `text` and `error` writable.
#[no_mangle]
pub unsafe extern "C" fn ft_line_editor_read(
    editor: *mut LineEditor,
    prompt: super::FtSpan,
    text: *mut super::FtBuffer,
    error: *mut super::FtBuffer,
) -> u32 {
    match super::guard(error, || (*editor).read(prompt.text()?)) {
        Some(Input::Text(line)) => {
            text.write(super::FtBuffer::new(line.into_bytes()));
            0
        }
        Some(Input::Interrupted) => 1,
        Some(Input::End) => 2,
        Some(Input::Unreadable) => 3,
        None => 4,
    }
}
