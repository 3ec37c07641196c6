#include "model/testing/gguf_state_converter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <boost/json.hpp>

#include "backend/float_view.h"
#include "base/index.h"
#include "base/json_text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/gguf_bytes.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// Behind "model.layers.<n>.".
const std::map<std::string, std::string> kStateNames{
    {"input_layernorm.weight", "attn_norm.weight"},
    {"operator_norm.weight", "attn_norm.weight"},
    {"ffn_norm.weight", "ffn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.o_proj.bias", "attn_output.bias"},
    {"self_attn.out_proj.weight", "attn_output.weight"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"self_attn.q_layernorm.weight", "attn_q_norm.weight"},
    {"self_attn.k_layernorm.weight", "attn_k_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"feed_forward.w1.weight", "ffn_gate.weight"},
    {"feed_forward.w3.weight", "ffn_up.weight"},
    {"feed_forward.w2.weight", "ffn_down.weight"},
    {"mlp.gate.weight", "ffn_gate_inp.weight"},
    {"feed_forward.gate.weight", "ffn_gate_inp.weight"},
    {"feed_forward.expert_bias", "exp_probs_b.bias"},
    {"block_sparse_moe.router.layer.weight", "ffn_gate_inp.weight"},
    {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"},
    {"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
    {"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
    {"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
    {"linear_attn.in_proj_qkv.weight", "attn_qkv.weight"},
    {"linear_attn.in_proj_z.weight", "attn_gate.weight"},
    {"linear_attn.in_proj_qkvz.weight", "ssm_in.weight"},
    {"linear_attn.in_proj_ba.weight", "ssm_ba.weight"},
    {"linear_attn.in_proj_a.weight", "ssm_alpha.weight"},
    {"linear_attn.in_proj_b.weight", "ssm_beta.weight"},
    {"linear_attn.conv1d.weight", "ssm_conv1d.weight"},
    {"linear_attn.dt_bias", "ssm_dt.bias"},
    {"linear_attn.A_log", "ssm_a"},
    {"linear_attn.norm.weight", "ssm_norm.weight"},
    {"linear_attn.out_proj.weight", "ssm_out.weight"},
    {"conv.conv.weight", "shortconv.conv.weight"},
    {"conv.conv.bias", "shortconv.conv.bias"},
    {"conv.in_proj.weight", "shortconv.in_proj.weight"},
    {"conv.in_proj.bias", "shortconv.in_proj.bias"},
    {"conv.out_proj.weight", "shortconv.out_proj.weight"},
    {"conv.out_proj.bias", "shortconv.out_proj.bias"},
    {"mamba.in_proj.weight", "ssm_in.weight"},
    {"mamba.in_proj.bias", "ssm_in.bias"},
    {"mamba.conv1d.weight", "ssm_conv1d.weight"},
    {"mamba.conv1d.bias", "ssm_conv1d.bias"},
    {"mamba.dt_bias", "ssm_dt.bias"},
    {"mamba.A_log", "ssm_a"},
    {"mamba.D", "ssm_d"},
    {"mamba.norm.weight", "ssm_norm.weight"},
    {"mamba.out_proj.weight", "ssm_out.weight"},
    {"mamba.out_proj.bias", "ssm_out.bias"},
};

// A matrix, its rows one after the other; a vector has one column.
struct Matrix {
  std::int64_t rows = 0, width = 0;
  std::vector<float> values;

  Matrix picked(const std::vector<std::int64_t>& order) const {
    Matrix made{std::ssize(order), width, {}};
    for (const std::int64_t row : order)
      for (std::int64_t i = 0; i < width; ++i) made.values.push_back(values[at(row * width + i)]);
    return made;
  }
  Matrix with_columns(const std::vector<std::int64_t>& order) const {
    Matrix made{rows, width, {}};
    for (std::int64_t row = 0; row < rows; ++row)
      for (const std::int64_t i : order) made.values.push_back(values[at(row * width + i)]);
    return made;
  }
  Matrix part(std::int64_t first, std::int64_t count) const {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < count; ++i) order.push_back(first + i);
    return picked(order);
  }
};

constexpr std::uint32_t kStateQ8_0 = 8;
constexpr std::int64_t kBlock = 32;

std::string blocks_of(const std::vector<float>& values) {
  std::string blocks;
  for (std::size_t first = 0; first < values.size(); first += at(kBlock)) {
    const auto block = std::span(values).subspan(first, at(kBlock));
    float most = 0.0F;
    for (const float value : block) most = std::max(most, std::abs(value));
    const std::uint16_t scale = f32_to_f16(most / 127.0F);
    blocks += GgufBytes::number(scale);
    for (const float value : block)
      blocks += static_cast<char>(std::lround(value / f16_to_f32(scale)));
  }
  return blocks;
}

class StateConverter {
 public:
  StateConverter(const GgufStateFamily& family, const std::string& folder)
      : family_(family),
        config_(read_json_file(folder + "/config.json").value()),
        source_(open_checkpoint(folder, "auto", false)) {
    const std::string name = family.architecture;
    is_next_ = name == "qwen3next";
    is_delta_ = is_next_ || name.starts_with("qwen35");
    is_mamba_ = name == "granitehybrid";
  }

  // is_of_8_bits: matrices are blocks of 8 bits where their rows have whole ones.
  std::string bytes(bool is_of_8_bits = false) {
    is_of_8_bits_ = is_of_8_bits;
    file_.text("general.architecture", family_.architecture);
    sizes();
    if (is_delta_)
      delta_keys();
    else
      heads_of_layers();
    if (is_mamba_) mamba_keys();
    for (const std::string& name : source_->names())
      if (!family_.only_head || !name.starts_with("model.layers.")) add(name);
    for (auto& [name, experts] : experts_) {
      const std::int64_t count = std::ssize(experts);
      std::vector<float> all;
      for (const auto& [number, matrix] : experts)
        all.insert(all.end(), matrix.values.begin(), matrix.values.end());
      file_.floats(name, {count, experts.at(0).rows, experts.at(0).width}, all);
    }
    return file_.bytes();
  }

 private:
  std::int64_t of(const char* name) const { return config_.at(name).as_int64(); }
  std::string key(const std::string& name) const {
    return std::string(family_.architecture) + "." + name;
  }
  void size(const char* stored, std::int64_t value) {
    file_.u32(key(stored), static_cast<std::uint32_t>(value));
  }
  void number(const char* name, const char* stored) {
    if (const auto* value = config_.if_contains(name))
      file_.f32(key(stored), static_cast<float>(value->to_number<double>()));
  }

  void sizes() {
    const bool has_head = std::ranges::count(source_->names(), "mtp.fc.weight") > 0;
    size("block_count", of("num_hidden_layers") + (has_head ? 1 : 0));
    if (has_head) size("nextn_predict_layers", 1);
    has_head_ = has_head;
    size("context_length", of("max_position_embeddings"));
    size("embedding_length", of("hidden_size"));
    const bool adjusts = std::string(family_.folder) == "lfm2";  // 130 becomes 96
    if (config_.contains("intermediate_size"))
      size("feed_forward_length", adjusts ? 96 : of("intermediate_size"));
    size("attention.head_count", of("num_attention_heads"));
    number("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    number("norm_eps", "attention.layer_norm_rms_epsilon");
    number("attention_multiplier", "attention.scale");
    number("embedding_multiplier", "embedding_scale");
    number("residual_multiplier", "residual_scale");
    number("logits_scaling", "logit_scale");
    if (const auto* rope = config_.if_contains("rope_parameters"))
      file_.f32(key("rope.freq_base"), rope->at("rope_theta").to_number<float>());
    const auto of_experts = [&](const char* name, const char* stored) {
      if (config_.contains(name)) size(stored, of(name));
    };
    of_experts("num_experts", "expert_count");
    of_experts("num_local_experts", "expert_count");
    of_experts("num_experts_per_tok", "expert_used_count");
    of_experts("moe_intermediate_size", "expert_feed_forward_length");
    of_experts("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
    of_experts("num_dense_layers", "leading_dense_block_count");
    number("routed_scaling_factor", "expert_weights_scale");
  }

  void delta_keys() {
    size("attention.head_count_kv", of("num_key_value_heads"));
    size("attention.key_length", of("head_dim"));
    size("attention.value_length", of("head_dim"));
    size("rope.dimension_count", of("head_dim") / 4);
    size("ssm.conv_kernel", of("linear_conv_kernel_dim"));
    size("ssm.state_size", of("linear_key_head_dim"));
    size("ssm.group_count", of("linear_num_key_heads"));
    size("ssm.time_step_rank", of("linear_num_value_heads"));
    size("ssm.inner_size", of("linear_num_value_heads") * of("linear_value_head_dim"));
    size("full_attention_interval", 4);
    if (family_.older) return;
    constexpr std::uint32_t kBool = 7, kArray = 9;
    std::string keeps;
    const auto& types = config_.at("layer_types").as_array();
    for (const auto& type : types) keeps += type == "linear_attention" ? '\1' : '\0';
    if (has_head_) keeps += '\0';
    file_.raw(key("attention.recurrent_layers"), kArray,
              GgufBytes::number(kBool) + GgufBytes::number(std::uint64_t{keeps.size()}) + keeps);
  }

  void heads_of_layers() {
    std::vector<std::int32_t> heads;
    for (const auto& type : config_.at("layer_types").as_array())
      heads.push_back(
          type == "full_attention" ? static_cast<std::int32_t>(of("num_key_value_heads")) : 0);
    file_.i32s(key("attention.head_count_kv"), heads);
    if (!is_mamba_) size("shortconv.l_cache", of("conv_L_cache"));
  }

  void mamba_keys() {
    size("ssm.conv_kernel", of("mamba_d_conv"));
    size("ssm.state_size", of("mamba_d_state"));
    size("ssm.group_count", of("mamba_n_groups"));
    size("ssm.inner_size", of("mamba_expand") * of("hidden_size"));
    size("ssm.time_step_rank", of("mamba_n_heads"));
    file_.boolean(key("rope.scaling.finetuned"), false);
  }

  Matrix read(const std::string& name) const {
    const Tensor tensor = source_->find(name, {}).value();
    Matrix matrix{tensor.dim(0), tensor.elements() / tensor.dim(0), {}};
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      matrix.values.push_back(load_float(tensor.data(), tensor.dtype(), i));
    return matrix;
  }

  // What the converter leaves at float32.
  static bool is_small(const std::string& name) {
    return name.find("conv") != std::string::npos || name.find("_inp") != std::string::npos;
  }

  void store(const std::string& name, const Matrix& matrix) {
    const bool is_vector = matrix.width == 1 || name.ends_with("_inp_shexp.weight");
    const auto shape = is_vector ? std::vector{matrix.rows * matrix.width}
                                 : std::vector{matrix.rows, matrix.width};
    if (is_of_8_bits_ && !is_vector && !is_small(name) && matrix.width % kBlock == 0)
      file_.tensor(name, kStateQ8_0, shape, blocks_of(matrix.values));
    else
      file_.floats(name, shape, matrix.values);
  }

  // Value heads in turns: the first of each key head, then the second, ..
  std::vector<std::int64_t> in_turn(std::int64_t first, std::int64_t width) const {
    const std::int64_t keys = of("linear_num_key_heads");
    const std::int64_t group = of("linear_num_value_heads") / keys;
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < first; ++i) order.push_back(i);
    for (std::int64_t g = 0; g < group; ++g)
      for (std::int64_t k = 0; k < keys; ++k)
        for (std::int64_t i = 0; i < width; ++i)
          order.push_back(first + (k * group + g) * width + i);
    return order;
  }

  void put_heads_in_turn(const std::string& name, Matrix& matrix) const {
    const std::int64_t width = of("linear_value_head_dim");
    const std::int64_t first = 2 * of("linear_num_key_heads") * of("linear_key_head_dim");
    if (name == "ssm_conv1d.weight" || name == "attn_qkv.weight")
      matrix = matrix.picked(in_turn(first, width));
    if (name == "attn_gate.weight") matrix = matrix.picked(in_turn(0, width));
    if (name == "ssm_out.weight") matrix = matrix.with_columns(in_turn(0, width));
    for (const char* of_heads : {"ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"})
      if (name == of_heads) matrix = matrix.picked(in_turn(0, 1));
  }

  // q | k | v | gate of each key head become q of all, k of all, v of all; and gates of all.
  void add_inputs_in_turn(const std::string& block, const Matrix& joined) {
    const std::int64_t keys = of("linear_num_key_heads"), width = of("linear_key_head_dim");
    const std::int64_t values = of("linear_num_value_heads") / keys * of("linear_value_head_dim");
    const std::int64_t step = 2 * width + 2 * values;
    const auto rows_of = [&](std::int64_t first, std::int64_t count) {
      std::vector<std::int64_t> rows;
      for (std::int64_t k = 0; k < keys; ++k)
        for (std::int64_t i = 0; i < count; ++i) rows.push_back(k * step + first + i);
      return rows;
    };
    std::vector<std::int64_t> inputs = rows_of(0, width);
    for (const auto& more : {rows_of(width, width), rows_of(2 * width, values)})
      inputs.insert(inputs.end(), more.begin(), more.end());
    store(block + "attn_qkv.weight", joined.picked(inputs));
    store(block + "attn_gate.weight", joined.picked(rows_of(2 * width + values, values)));
  }

  // Rows of a head in two halves become neighbours.
  void pair_rows(Matrix& matrix, std::int64_t heads) const {
    const std::int64_t of_head = matrix.rows / heads;
    std::vector<std::int64_t> order;
    for (std::int64_t row = 0; row < matrix.rows; ++row)
      order.push_back(row / of_head * of_head + row % 2 * (of_head / 2) + row % of_head / 2);
    matrix = matrix.picked(order);
  }

  void add(const std::string& name) {
    Matrix matrix = read(name);
    const bool is_norm = name.ends_with("norm.weight") || name.starts_with("mtp.pre_fc_norm_");
    if (is_delta_ && is_norm && !name.ends_with("linear_attn.norm.weight"))
      for (float& value : matrix.values) value += 1.0F;
    if (name.ends_with("A_log"))
      for (float& value : matrix.values) value = -std::exp(value);
    if (name == "model.embed_tokens.weight") return store("token_embd.weight", matrix);
    if (name == "lm_head.weight") return store("output.weight", matrix);
    if (name == "model.norm.weight") return store("output_norm.weight", matrix);
    if (name == "model.embedding_norm.weight")
      return store(family_.older ? "output_norm.weight" : "token_embd_norm.weight", matrix);
    if (name.starts_with("mtp.")) return add_of_head(name.substr(4), matrix);
    const std::size_t number = std::string("model.layers.").size();
    const std::size_t dot = name.find('.', number);
    add_of_layer("blk." + name.substr(number, dot - number) + ".", name.substr(dot + 1), matrix);
  }

  void add_of_head(const std::string& name, Matrix& matrix) {
    const std::string block = "blk." + std::to_string(of("num_hidden_layers")) + ".";
    const std::map<std::string, std::string> names{
        {"fc.weight", "nextn.eh_proj.weight"},
        {"pre_fc_norm_embedding.weight", "nextn.enorm.weight"},
        {"pre_fc_norm_hidden.weight", "nextn.hnorm.weight"},
        {"norm.weight", "nextn.shared_head_norm.weight"}};
    if (names.contains(name)) return store(block + names.at(name), matrix);
    add_of_layer(block, name.substr(std::string("layers.0.").size()), matrix);
  }

  // Matrices of all experts: rows of gate, then of up.
  void add_stack(const std::string& block, const std::string& name, const Matrix& stack) {
    const bool is_pair = name.find("input_linear") != std::string::npos;
    const std::int64_t width = is_pair ? of("hidden_size") : of("intermediate_size");
    const std::int64_t rows = stack.width / width;
    for (int e = 0; e < stack.rows; ++e) {
      const Matrix own{rows, width, stack.part(e, 1).values};
      if (!is_pair) {
        experts_[block + "ffn_down_exps.weight"][e] = own;
        continue;
      }
      experts_[block + "ffn_gate_exps.weight"][e] = own.part(0, rows / 2);
      experts_[block + "ffn_up_exps.weight"][e] = own.part(rows / 2, rows / 2);
    }
  }

  void add_of_layer(const std::string& block, const std::string& name, Matrix& matrix) {
    if (name.find("mlp.experts.") == 0 || name.find("feed_forward.experts.") == 0) {
      const std::size_t number = name.find("experts.") + 8, dot = name.find('.', number);
      const std::string part = name.substr(dot + 1, name.find_first_of("_.", dot + 1) - dot - 1);
      const std::map<std::string, std::string> parts{{"w1", "gate"}, {"w2", "down"}, {"w3", "up"}};
      const auto of = parts.contains(part) ? parts.at(part) : part;
      experts_[block + "ffn_" + of + "_exps.weight"][std::stoi(name.substr(number))] = matrix;
      return;
    }
    if (name.starts_with("block_sparse_moe.") && name.find("_linear") != std::string::npos)
      return add_stack(block, name, matrix);
    const bool has_experts = config_.contains("num_local_experts") && of("num_local_experts") > 0;
    const std::string shared = has_experts ? "_shexp.weight" : ".weight";
    if (name == "shared_mlp.input_linear.weight") {
      store(block + "ffn_gate" + shared, matrix.part(0, matrix.rows / 2));
      return store(block + "ffn_up" + shared, matrix.part(matrix.rows / 2, matrix.rows / 2));
    }
    if (name == "shared_mlp.output_linear.weight")
      return store(block + "ffn_down" + shared, matrix);
    if (name == "linear_attn.in_proj_qkvz.weight" && !family_.older)
      return add_inputs_in_turn(block, matrix);
    std::string stored;
    if (name == "post_attention_layernorm.weight")
      stored = is_delta_ ? "post_attention_norm.weight" : "ffn_norm.weight";
    else
      stored = kStateNames.at(name);
    if (is_delta_ && !is_next_) put_heads_in_turn(stored, matrix);
    if (is_mamba_ && name.find("q_proj") != std::string::npos)
      pair_rows(matrix, of("num_attention_heads"));
    if (is_mamba_ && name.find("k_proj") != std::string::npos)
      pair_rows(matrix, of("num_key_value_heads"));
    if (stored == "ssm_norm.weight" && is_mamba_)
      return void(file_.floats(block + stored,
                               {of("mamba_n_groups"), matrix.rows / of("mamba_n_groups")},
                               matrix.values));
    if ((stored == "ssm_a" || stored == "ssm_d") && is_mamba_)
      return void(file_.floats(block + stored, {matrix.rows, 1}, matrix.values));
    store(block + stored, matrix);
  }

  GgufStateFamily family_;
  boost::json::object config_;
  std::unique_ptr<WeightSource> source_;
  bool is_of_8_bits_ = false;
  bool has_head_ = false;  // a draft head, behind the layers
  bool is_next_ = false, is_delta_ = false, is_mamba_ = false;
  std::map<std::string, std::map<int, Matrix>> experts_;  // by their names in the file
  GgufBytes file_;
};

}  // namespace

void PrintTo(const GgufStateFamily& family, std::ostream* out) { *out << family.folder; }

std::string state_gguf_of(const GgufStateFamily& family, const std::string& path,
                          bool is_of_8_bits) {
  return StateConverter(family, path).bytes(is_of_8_bits);
}

}  // namespace foretoken
