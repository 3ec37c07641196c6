#include "bench/contender.h"

#include <chrono>

#include <boost/json.hpp>

#include "app/host/draft_vocabulary.h"
#include "app/machine/environment.h"
#include "app/options/resolve_options.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/seconds_since.h"
#include "model/config/generation_config.h"
#include "text/text_stream.h"

namespace foretoken {
namespace {

// Each request is computed whole: prompts come again in every repeat, and a prefix cache would make
// the first method pay for the others.
Options options_of(const DraftMethod& method, std::span<const std::string> extra_flags) {
  std::vector<std::string> args{"--model-path", method.model, "--disable-radix-cache",
                                "--speculative-algorithm", "none"};
  args.insert(args.end(), method.flags.begin(), method.flags.end());
  args.insert(args.end(), extra_flags.begin(), extra_flags.end());
  return resolve_options(parse_flags(args, generate_flags()), Environment::from_process());
}

}  // namespace

Contender::Contender(const DraftMethod& method, std::span<const std::string> extra_flags)
    : Contender(options_of(method, extra_flags)) {}

Contender::Contender(const Options& options)
    : text_(options.load),
      host_((check_draft_vocabulary(text_.tokenizer, options), options)),
      stop_tokens_(stop_tokens_of(options.load.model_folder, host_.decoder().config().eos,
                                  text_.tokenizer.eos())) {
  host_.engine().start();
  host_.warm_up();
}

Contender::~Contender() = default;

Answer Contender::answer(const std::vector<Token>& prompt, const AnswerOptions& options,
                         const std::vector<Token>& prediction) {
  Request request;
  request.id = "bench";
  request.prompt = prompt;
  request.prediction = prediction;
  request.sampling.temperature = options.temperature;
  for (const Token token : prompt)
    request.sampling.seed = mix_seed(request.sampling.seed, static_cast<std::uint64_t>(token));
  request.sampling.top_logprobs = -1;
  if (!options.ignores_end) request.sampling.stop_tokens = stop_tokens_;
  request.max_new_tokens = options.max_new_tokens;
  if (!options.drafts) request.draft_wish.max_nodes = 1;
  request.stream = std::make_shared<TokenStream>();
  const auto stream = request.stream;
  const auto start = std::chrono::steady_clock::now();
  if (const auto refusal = host_.engine().submit(std::move(request))) throw Error(refusal->message);
  Answer answer;
  for (bool is_finished = false; !is_finished;) {
    const TokenDelta delta = stream->wait();
    for (const auto& sampled : delta.tokens) answer.tokens.push_back(sampled.token);
    if (!delta.finish) continue;
    is_finished = true;
    answer.seconds = seconds_since(start);
    answer.verify_steps = delta.verify_steps;
    answer.accepted_drafts = delta.accepted_drafts;
    answer.proposed_drafts = delta.proposed_drafts;
    if (delta.finish->reason != FinishReason::kStop &&
        delta.finish->reason != FinishReason::kLength)
      throw Error(delta.finish->message);
  }
  return answer;
}

std::vector<Token> Contender::encode(const std::vector<std::string>& messages) const {
  std::string text = messages.back();
  if (text_.chat_template) {
    boost::json::array list;
    for (std::size_t i = 0; i < messages.size(); ++i)
      list.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", messages[i]}});
    const boost::json::object request{{"messages", list}, {"add_generation_prompt", true}};
    const auto rendered =
        text_.chat_template->render(boost::json::serialize(request), MessageForm::kOpenAi);
    if (!rendered) throw Error(rendered.refusal().message);
    text = *rendered;
  }
  const auto tokens =
      text_.tokenizer.encode(text, text_.chat_template ? AddSpecial::kNo : AddSpecial::kYes);
  if (!tokens) throw Error(tokens.refusal().message);
  return *tokens;
}

std::string Contender::text_of(const std::vector<Token>& tokens) const {
  TextStream stream(text_.tokenizer, {});
  std::string text;
  for (const Token token : tokens) text += stream.push(token).text;
  return text + stream.finish().text;
}

}  // namespace foretoken
