#include "app/chat/line_input.h"

#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "app/chat/chat_line.h"
#include "base/error.h"
#include "text/rust_bridge.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostHistory = 1000;  // entries
constexpr std::string_view kPrompt = "> ";

bool ends_text(FtSpan text) { return is_complete_input({text.data, text.size}); }

// What is said is nobody else's business.
void make_folder_of(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  std::error_code fault;
  if (folder.empty() || std::filesystem::exists(folder, fault)) return;
  std::filesystem::create_directories(folder.parent_path(), fault);
  ::mkdir(folder.c_str(), S_IRWXU);
}

// While no line is edited, what is typed waits unseen for the next one, as it was typed: a terminal
// that makes lines itself would keep Return and Ctrl-D for itself. Ctrl-C stays a signal.
class TypeAhead {
 public:
  TypeAhead() {
    is_terminal_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_terminal_) return;
    termios kept = before_;
    kept.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    kept.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
    kept.c_cc[VMIN] = 1;
    kept.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &kept);
  }
  ~TypeAhead() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  TypeAhead(const TypeAhead&) = delete;
  TypeAhead& operator=(const TypeAhead&) = delete;

 private:
  termios before_{};
  bool is_terminal_ = false;
};

class EditedInput final : public LineInput {
 public:
  EditedInput(const std::string& history, std::string_view completed, bool is_coloured) {
    if (!history.empty()) make_folder_of(history);
    FtBuffer fault{};
    editor_ = ft_line_editor_new(span_of(history), kMostHistory, span_of(completed), ends_text,
                                 is_coloured, &fault);
    if (editor_ == nullptr) throw Error("the terminal cannot be used: " + take(fault));
  }
  ~EditedInput() override { ft_line_editor_free(editor_); }
  EditedInput(const EditedInput&) = delete;
  EditedInput& operator=(const EditedInput&) = delete;

  Input read() override {
    FtBuffer text{}, fault{};
    switch (ft_line_editor_read(editor_, span_of(kPrompt), &text, &fault)) {
      case 0:
        return {Kind::kText, take(text)};
      case 1:
        return {Kind::kInterrupted};
      case 2:
        return {Kind::kEnd};
      case 3:
        return {Kind::kUnreadable};
      default:
        throw Error("the terminal cannot be read: " + take(fault));
    }
  }

 private:
  const TypeAhead type_ahead_;  // the editor's own mode lasts while a line is edited
  FtLineEditor* editor_ = nullptr;
};

class PlainInput final : public LineInput {
 public:
  explicit PlainInput(std::FILE* from) : from_(from) {}

  Input read() override {
    std::string text;
    if (!add_line(text)) return {Kind::kEnd};
    for (bool goes_on = true; goes_on;) {
      const bool is_fenced = !is_complete_input(text);
      if (!is_fenced && !text.ends_with('\\')) break;
      if (!is_fenced) text.pop_back();
      std::string next;
      goes_on = add_line(next);
      if (goes_on) text += '\n' + next;
    }
    if (!is_valid_utf8(text)) return {Kind::kUnreadable};
    return {Kind::kText, std::move(text)};
  }

 private:
  // Without its end. False: there is none.
  bool add_line(std::string& text) {
    bool is_any = false;
    for (int c = 0; (c = std::fgetc(from_)) != EOF && c != '\n'; is_any = true)
      text += static_cast<char>(c);
    if (text.ends_with('\r')) text.pop_back();
    return is_any || std::feof(from_) == 0;
  }

  std::FILE* from_;
};

}  // namespace

std::unique_ptr<LineInput> edited_input(const std::string& history, std::string_view completed,
                                        bool is_coloured) {
  return std::make_unique<EditedInput>(history, completed, is_coloured);
}

std::unique_ptr<LineInput> plain_input(std::FILE* from) {
  return std::make_unique<PlainInput>(from);
}

}  // namespace foretoken
