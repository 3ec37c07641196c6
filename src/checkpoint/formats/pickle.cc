#include "checkpoint/formats/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

using Kind = PickleValue::Kind;

// Far above any checkpoint (about 20 values per tensor) or token map (one per token).
constexpr std::size_t kMaxValues = std::size_t{1} << 21;
constexpr std::size_t kMaxNameBytes = 200;  // of a module or of what is in it
constexpr std::size_t kMaxIntegerBytes = 64;
constexpr PickleId kMark = ~PickleId{0};  // on the stack: where a group begins
constexpr std::string_view kOrderedDict = "collections OrderedDict";

// The opcodes of the format that torch.save uses, by the names of Python's pickletools.
enum Opcode : std::uint8_t {
  kOpNone = 'N',
  kOpNewTrue = 0x88,
  kOpNewFalse = 0x89,
  kOpBinInt = 'J',
  kOpBinInt1 = 'K',
  kOpBinInt2 = 'M',
  kOpLong1 = 0x8a,
  kOpLong4 = 0x8b,
  kOpBinFloat = 'G',
  kOpShortBinString = 'U',
  kOpShortBinUnicode = 0x8c,
  kOpBinString = 'T',
  kOpBinUnicode = 'X',
  kOpBinUnicode8 = 0x8d,
  kOpGlobal = 'c',
  kOpEmptyTuple = ')',
  kOpEmptyList = ']',
  kOpEmptyDict = '}',
  kOpTuple = 't',
  kOpList = 'l',
  kOpTuple1 = 0x85,
  kOpTuple2 = 0x86,
  kOpTuple3 = 0x87,
  kOpAppend = 'a',
  kOpAppends = 'e',
  kOpSetItem = 's',
  kOpSetItems = 'u',
  kOpProto = 0x80,
  kOpFrame = 0x95,
  kOpMark = '(',
  kOpPop = '0',
  kOpPopMark = '1',
  kOpDup = '2',
  kOpBinPut = 'q',
  kOpLongBinPut = 'r',
  kOpMemoize = 0x94,
  kOpBinGet = 'h',
  kOpLongBinGet = 'j',
  kOpBinPersId = 'Q',
  kOpStackGlobal = 0x93,
  kOpReduce = 'R',
  kOpBuild = 'b',
  kOpStop = '.',
};

// The stack machine of the pickle format.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, std::span<const std::string_view> callables,
                const std::string& where)
      : bytes_(bytes), callables_(callables), where_(where) {}

  Pickle run() {
    while (!is_finished_) {
      opcode_at_ = at_;
      step(static_cast<std::uint8_t>(take_little_endian(1)));
    }
    pickle_.bytes = at_;
    return std::move(pickle_);
  }

 private:
  void step(std::uint8_t opcode) {
    if (!step_value(opcode) && !step_container(opcode) && !step_stack(opcode))
      fail("pickle opcode is not supported", "those of torch.save",
           "opcode " + std::to_string(opcode));
  }

  // Opcodes that push one value read from the bytes.
  bool step_value(std::uint8_t opcode) {
    switch (opcode) {
      case kOpNone:
        push({});
        break;
      case kOpNewTrue:
        push({.kind = Kind::kBool, .integer = 1});
        break;
      case kOpNewFalse:
        push({.kind = Kind::kBool});
        break;
      case kOpBinInt:
        push_integer(static_cast<std::int32_t>(take_little_endian(4)));
        break;
      case kOpBinInt1:
        push_integer(static_cast<std::int64_t>(take_little_endian(1)));
        break;
      case kOpBinInt2:
        push_integer(static_cast<std::int64_t>(take_little_endian(2)));
        break;
      case kOpLong1:
        push_long(take_little_endian(1));
        break;
      case kOpLong4:
        push_long(take_little_endian(4));
        break;
      case kOpBinFloat:
        push_float();
        break;
      case kOpShortBinString:
      case kOpShortBinUnicode:
        push_text(take_little_endian(1));
        break;
      case kOpBinString:
      case kOpBinUnicode:
        push_text(take_little_endian(4));
        break;
      case kOpBinUnicode8:
        push_text(take_little_endian(8));
        break;
      case kOpGlobal: {
        const std::string module = take_line();
        push_global(module, take_line());
        break;
      }
      default:
        return false;
    }
    return true;
  }

  // Opcodes that make or fill containers.
  bool step_container(std::uint8_t opcode) {
    switch (opcode) {
      case kOpEmptyTuple:
        push({.kind = Kind::kTuple});
        break;
      case kOpEmptyList:
        push({.kind = Kind::kList});
        break;
      case kOpEmptyDict:
        push({.kind = Kind::kDict});
        break;
      case kOpTuple:
        push({.kind = Kind::kTuple, .items = pop_to_mark()});
        break;
      case kOpList:
        push({.kind = Kind::kList, .items = pop_to_mark()});
        break;
      case kOpTuple1:
      case kOpTuple2:
      case kOpTuple3:
        push({.kind = Kind::kTuple, .items = pop_many(opcode - 0x84U)});
        break;
      case kOpAppend:
        extend(Kind::kList, pop_many(1));
        break;
      case kOpAppends:
        extend(Kind::kList, pop_to_mark());
        break;
      case kOpSetItem:
        extend(Kind::kDict, pop_many(2));
        break;
      case kOpSetItems:
        extend(Kind::kDict, pop_to_mark());
        break;
      default:
        return false;
    }
    return true;
  }

  // Opcodes of calls, the memo and the stack itself.
  bool step_stack(std::uint8_t opcode) {
    switch (opcode) {
      case kOpProto:
        check_protocol(take_little_endian(1));
        break;
      case kOpFrame:
        take_little_endian(8);
        break;  // a hint for reads
      case kOpMark:
        stack_.push_back(kMark);
        break;
      case kOpPop:
        pop();
        break;
      case kOpPopMark:
        pop_to_mark();
        break;
      case kOpDup:
        stack_.push_back(top());
        break;
      case kOpBinPut:
        memo_[take_little_endian(1)] = top();
        break;
      case kOpLongBinPut:
        memo_[take_little_endian(4)] = top();
        break;
      case kOpMemoize:
        memo_[memo_.size()] = top();
        break;
      case kOpBinGet:
        push_memo(take_little_endian(1));
        break;
      case kOpLongBinGet:
        push_memo(take_little_endian(4));
        break;
      case kOpBinPersId:
        push({.kind = Kind::kPersistentId, .items = pop_many(1)});
        break;
      case kOpStackGlobal:
        stack_global();
        break;
      case kOpReduce:
        call();
        break;
      case kOpBuild:
        build();
        break;
      case kOpStop:
        finish();
        break;
      default:
        return false;
    }
    return true;
  }

  [[noreturn]] void fail(std::string what, std::string expected = {},
                         std::string found = {}) const {
    throw Error({std::move(what),
                 where_ + ", byte " + std::to_string(opcode_at_) + " of the pickle",
                 std::move(expected), std::move(found)});
  }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      fail("truncated pickle", std::to_string(count) + " more bytes",
           std::to_string(bytes_.size() - at_));
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  std::uint64_t take_little_endian(std::size_t count) {
    const auto taken = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(taken[i]);
    return value;
  }

  std::string take_text(std::uint64_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  std::string take_line() {
    const auto rest = bytes_.subspan(at_, std::min(kMaxNameBytes, bytes_.size() - at_));
    const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (end == rest.end()) fail("bad name in the pickle", "a line of text");
    std::string line = take_text(static_cast<std::uint64_t>(end - rest.begin()));
    ++at_;
    return line;
  }

  void push(PickleValue value) {
    if (pickle_.values.size() == kMaxValues)
      fail("pickle holds too many values", "at most " + std::to_string(kMaxValues));
    stack_.push_back(static_cast<PickleId>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }

  void push_integer(std::int64_t value) { push({.kind = Kind::kInteger, .integer = value}); }
  void push_text(std::uint64_t count) { push({.kind = Kind::kText, .text = take_text(count)}); }

  void push_float() {  // the only big-endian number of the format
    std::uint64_t bits = 0;
    for (const std::byte byte : take(8)) bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
    push({.kind = Kind::kFloat, .real = std::bit_cast<double>(bits)});
  }

  void push_long(std::uint64_t count) {
    if (count > kMaxIntegerBytes)
      fail("integer is too long", "at most " + std::to_string(kMaxIntegerBytes) + " bytes",
           std::to_string(count));
    if (count > 8) return push({.kind = Kind::kLargeInteger, .text = take_text(count)});
    std::uint64_t value = take_little_endian(static_cast<std::size_t>(count));
    if (count > 0 && count < 8 && (value >> (8 * count - 1)) != 0)
      value |= ~std::uint64_t{0} << (8 * count);
    push_integer(static_cast<std::int64_t>(value));
  }

  void push_global(const std::string& module, const std::string& name) {
    const std::string global = module + " " + name;
    if (std::ranges::find(callables_, global) == callables_.end())
      fail("the pickle asks for code that is not data", "tensors, lists, dictionaries and numbers",
           module + "." + name + " (nothing was executed)");
    push({.kind = Kind::kGlobal, .text = global});
  }

  void push_memo(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end())
      fail("reference to a value that is not there", {}, std::to_string(key));
    stack_.push_back(found->second);
  }

  PickleId top() const {
    if (stack_.empty() || stack_.back() == kMark) fail("value missing on the stack of the pickle");
    return stack_.back();
  }

  PickleId pop() {
    const PickleId id = top();
    stack_.pop_back();
    return id;
  }

  std::vector<PickleId> pop_many(std::size_t count) {
    std::vector<PickleId> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  std::vector<PickleId> pop_to_mark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) fail("mark missing on the stack of the pickle");
    std::vector<PickleId> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }

  void extend(Kind kind, const std::vector<PickleId>& items) {
    PickleValue& target = pickle_.values[top()];
    if (target.kind != kind)
      fail("items for a value that holds none", kind == Kind::kList ? "a list" : "a dictionary",
           describe(target));
    if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void check_protocol(std::uint64_t protocol) const {
    if (protocol < 2 || protocol > 5)
      fail("unknown pickle protocol", "2 to 5", std::to_string(protocol));
  }

  void stack_global() {
    const PickleValue& name = pickle_.values[pop()];
    const PickleValue& module = pickle_.values[pop()];
    if (name.kind != Kind::kText || module.kind != Kind::kText ||
        name.text.size() > kMaxNameBytes || module.text.size() > kMaxNameBytes)
      fail("bad name in the pickle", "two short texts");
    push_global(std::string(module.text), std::string(name.text));
  }

  void call() {
    const PickleId arguments = pop();
    const PickleId callable = pop();
    const PickleValue& function = pickle_.values[callable];
    const PickleValue& given = pickle_.values[arguments];
    if (function.kind != Kind::kGlobal || given.kind != Kind::kTuple)
      fail("bad call in the pickle", "a function and a tuple",
           describe(function) + " and " + describe(given));
    if (function.text != kOrderedDict) {
      push({.kind = Kind::kCall, .text = function.text, .items = {arguments}});
      return;
    }
    if (!given.items.empty()) fail("OrderedDict with arguments", "an empty one, filled afterwards");
    push({.kind = Kind::kDict});
  }

  // Sets attributes. State dictionaries carry "_metadata", which no tensor depends on.
  void build() {
    pop();
    const PickleValue& target = pickle_.values[top()];
    if (target.kind != Kind::kDict)
      fail("attributes for a value that has none", "a dictionary", describe(target));
  }

  void finish() {
    pickle_.root = pop();
    if (!stack_.empty()) fail("values left on the stack at the end of the pickle");
    is_finished_ = true;
  }

  std::span<const std::byte> bytes_;
  std::span<const std::string_view> callables_;
  const std::string& where_;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::unordered_map<std::uint64_t, PickleId> memo_;
  std::size_t at_ = 0;
  std::size_t opcode_at_ = 0;
  bool is_finished_ = false;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> callables,
                   const std::string& where) {
  return PickleMachine(bytes, callables, where).run();
}

std::string describe(const PickleValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a truth value";
    case Kind::kInteger:
    case Kind::kLargeInteger:
      return "an integer";
    case Kind::kFloat:
      return "a float";
    case Kind::kText:
      return "a text";
    case Kind::kList:
      return "a list";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kDict:
      return "a dictionary";
    case Kind::kGlobal:
      return "the name " + value.text;
    case Kind::kCall:
      return "a call of " + value.text;
    case Kind::kPersistentId:
      return "a reference to a storage";
  }
  return "a value";
}

}  // namespace foretoken
