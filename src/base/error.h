#pragma once
// The three kinds of failure and their mechanisms.
//   A bug            CHECK / DCHECK print file, line and condition and abort; never reachable
//                    from outside input
//   Cannot start     constructors throw Error (what, where, expected, found); main catches it once
//   A bad request    is data: Result<T> here and FinishReason in the engine
// Not for control flow: after the engine runs nothing is thrown. Thread-safe: no state.

#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace foretoken {

// Why the program cannot start or a file cannot be read, in one sentence:
// "<what> (<where>): expected <expected>, found <found>".
class Error : public std::runtime_error {
 public:
  struct Parts {
    std::string what;           // what is wrong: "tensor has the wrong shape"
    std::string where = {};     // file, tensor, flag; may be empty
    std::string expected = {};  // may be empty
    std::string found = {};     // may be empty
  };

  explicit Error(Parts parts);
  explicit Error(std::string what) : Error(Parts{std::move(what), {}, {}, {}}) {}

  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
};

// Why a request was refused: an HTTP-like status and a sentence for the client.
struct Refusal {
  std::string message;
  int status = 400;
};

// A value or the reason why there is none. Use: `if (!r) return r.refusal(); use(*r);`
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(Refusal refusal)
      : state_(std::in_place_index<1>, std::move(refusal)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T operator*() && { return std::get<0>(std::move(state_)); }  // by value: nothing dangles
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Refusal& refusal() const { return std::get<1>(state_); }

 private:
  std::variant<T, Refusal> state_;
};

namespace internal {
// Collects the message of a failed CHECK and aborts when the statement ends.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return message_; }

 private:
  std::ostringstream message_;
};
}  // namespace internal

#define CHECK(condition)      \
  if (condition) [[likely]] { \
  } else                      \
    ::foretoken::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#ifdef NDEBUG
#define DCHECK(condition) CHECK(true || (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif

}  // namespace foretoken
