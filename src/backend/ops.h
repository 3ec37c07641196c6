#pragma once
// Ops: everything a model may do, as coarse virtual operations; one implementation per kind of
// machine. Not a graph, not an autograd, no shape inference: models are straight-line code over Ops
// and Tensor views. Activations are float32 [rows, width]; weights and KV are bf16, fp16 or float32
// (each chosen at load), or codes of fewer bits. Where the weights are bf16, a linear rounds its
// input to bf16 once and accumulates in the backend's order; what it does with codes,
// weight_format.h says. Results of a row depend on that row's sequence only: bitwise independent of
// batch mates, thread count, chunking and (within a numeric order) instruction set. Operations may
// be queued: they are done in the order of the calls. What they are given by reference they have
// taken when they return, so it may change. Memory of the backend (alloc, alloc_kv, keep_rows,
// temp) is touched by operations only; upload() leads in and read_back(), the only call of a step
// that waits, leads out. Called by whoever computes steps, one thread at a time. Once weights are
// packed a call throws only where the system has no memory for it (Error, std::bad_alloc); what was
// computed in the step is then worth nothing, the next layout() starts anew.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/activation.h"
#include "backend/weight_format.h"
#include "batch/batch.h"
#include "batch/draws.h"
#include "batch/tree.h"
#include "tensor/arena.h"
#include "tensor/tensor.h"

namespace foretoken {

// Weights in the backend's own layout, made by Ops::pack. Opaque to models.
class PackedLinear {
 public:
  virtual ~PackedLinear() = default;
  virtual std::int64_t in_width() const = 0;
  virtual std::int64_t out_width() const = 0;
  virtual std::size_t bytes() const = 0;
  // All of its memory, for who keeps it on disk; where Ops::packed_layout has a name for it.
  virtual std::vector<std::span<const std::byte>> images() const { return {}; }
};

// Matrices [n_i, in] to be stacked along the output dimension (q|k|v, gate|up). bias: empty or one
// per matrix [n_i], where an empty Tensor means no bias. Any float dtype; converted to `dtype` by
// round-to-nearest-even, or to codes where the format has them. Matrices that are codes already
// come as `codes`, in that format, and not as weights.
struct LinearParts {
  std::span<const Tensor> weights;
  std::span<const Tensor> biases;
  DType dtype = DType::kBF16;
  WeightFormat format = {};
  std::span<const CodedRows* const> codes = {};
};

// The same without the matrices: all that decides how they lie in memory.
struct LinearShape {
  std::vector<std::int64_t> rows = {};  // n_i
  std::int64_t in_width = 0;
  bool has_bias = false;
  DType dtype = DType::kBF16;
  WeightFormat format = {};
};

// Fills a piece of memory, as it was once found in PackedLinear::images(): from byte `offset` of
// image `image` on. False: the bytes cannot be had. Called by several threads at a time.
using FillImage =
    std::function<bool(std::size_t image, std::size_t offset, std::span<std::byte> to)>;

// The KV of one model.
struct KvShape {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  DType dtype = DType::kBF16;  // or another float, or codes of 8 bits
};

// KV of one layer of one model, laid out as its backend likes: nobody else looks inside. Codes of 8
// bits (kv_codes.h) have a float32 scale for each token and KV head.
struct KvLayer {
  Tensor k;
  Tensor v;
  Tensor k_scale = {};  // empty: k and v are floats
  Tensor v_scale = {};
  // Of the layer, not of the KV: float32 [heads], empty where there are none. Each query head sees
  // one position more, whose score is its sink and whose value is 0.
  Tensor sinks = {};
};

struct AttentionShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  float scale = 0.0F;      // of q.k
  int window = 0;          // > 0: a row at position p sees positions p - window + 1 .. p
  float score_cap = 0.0F;  // > 0: a scaled score s counts as cap * tanh(s / cap)

  bool operator==(const AttentionShape&) const = default;
};

// What a batch looks at in layers of one shape, worked out once for all of them. Backends add what
// their kernels want to know. Made by Ops::plan_attention; the batch is the caller's.
struct AttentionPlan {
  virtual ~AttentionPlan() = default;
  AttentionShape shape;
  const Batch* batch = nullptr;
};

// Rotation tables, float32 [positions, rotary_dim / 2], attention scaling factor included.
// Pairing is Hugging Face's: element i with element i + rotary_dim / 2.
struct RopeTable {
  Tensor cos;
  Tensor sin;
  // <= head_dim; the rest of the head passes unrotated. 0: nothing is rotated, no tables.
  int rotary_dim = 0;
};

// Per-head RMS norm of q and k before the rotation (Qwen3); empty weights: none.
struct QkNorm {
  Tensor q_weight;  // float32 [head_dim]
  Tensor k_weight;
  float eps = 0.0F;
};

// The size of a forward, for planning memory: nothing in it is larger.
struct ForwardSize {
  std::int64_t rows = 0;
  std::int64_t layers = 0;
  std::int64_t context = 0;       // positions that a row sees
  std::int64_t widest_input = 0;  // of a product
  std::int64_t intermediate = 0;  // of the gated MLP
  std::int64_t vocab = 0;
  AttentionShape attention;
  int forwards = 1;  // of this size in a step, each with a plan of its own
};

// What the machine reaches at this moment, for benchmarks to set their figures against. 0: unknown.
struct Roof {
  double read_bytes_per_s = 0;  // streaming over memory far larger than the caches, all threads
  double flops_per_s = 0;       // the bf16 linear's own arithmetic on registers alone, all threads
  double code_ops_per_s = 0;    // the same of linears that round their input to codes
};

// A number that is added to an element of a matrix.
struct Addend {
  std::int32_t row = 0, column = 0;
  float value = 0;
};

// How products of one shape are computed where only their speed depends on it.
struct TunedProduct {
  std::string name;  // of the shape and format
  int rows = 0;      // of this class: so many at most
  std::string plan;  // in the backend's words
  double usual_seconds = 0, tuned_seconds = 0;
};

// The most probable entries of rows of logits, k per row, most probable first.
struct TopTokens {
  std::vector<Token> token;        // kNoToken where a row has fewer numbers
  std::vector<float> probability;  // softmax over the whole row; 1 when k is 1
};

// A row of logits below which drafts are drawn as the sampler would draw.
struct DrawRow {
  std::int32_t row = 0;
  float noise_share = 1;   // see draw_candidates
  bool is_judged = false;  // wants what there is to judge, too
  RowContext context;      // of the row, if the logits were the target's
};

// What was found, so many per row drawn; see draw_candidates.
struct DrawnTokens {
  static constexpr int kJudged = 8;
  std::vector<Drawable> found, judged;
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string description()
      const = 0;  // for the log: "cpu avx512_bf16, pair order, 4 threads"

  // ---- load time
  // -------------------------------------------------------------------------------------------
  // The matrices are the host's, or the backend's where keep_rows gave them.
  virtual std::unique_ptr<PackedLinear> pack(const LinearParts& parts) = 0;
  // Some rows of a packed matrix as a matrix of their own.
  virtual std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w,
                                                  std::span<const Token> rows, DType dtype,
                                                  const WeightFormat& format) = 0;

  // The name of the layout of packed weights: where it is the same, and the shape is, their bytes
  // are a function of the matrices. Empty: this backend's cannot be kept.
  virtual std::string packed_layout() const { return {}; }
  // What pack() made once, from its bytes; null where fill returned false. Whole pieces of
  // kImagePiece are asked for, and what is left at the end of an image.
  static constexpr std::size_t kImagePiece = std::size_t{1} << 20;
  virtual std::unique_ptr<PackedLinear> pack_again(const LinearShape& shape,
                                                   const FillImage& fill) {
    (void)shape, (void)fill;
    return nullptr;
  }

  // Zeroed memory of the backend that lives as long as the backend (tables, norms).
  virtual Tensor alloc(DType dtype, Shape shape) = 0;

  // The same for the keys and values of so many pages, a layer each; and what a page takes of it.
  virtual std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) = 0;
  virtual std::size_t kv_page_bytes(const KvShape& shape) const = 0;

  // Copies values of the host to memory of the backend, of one shape and dtype.
  virtual void upload(Tensor host, Tensor to) = 0;

  // A matrix [n, width] of any float dtype as plain rows of `dtype` in memory of the backend, as
  // alloc gives it: for what is only looked up. Rounds to nearest even.
  virtual Tensor keep_rows(Tensor matrix, DType dtype) = 0;

  // Chooses by measurement how products of the packed weights with up to max_rows rows are
  // computed, and says what it chose. Bits do not change. What is `known` from another time is not
  // measured again. Between packing and the first step.
  virtual std::vector<TunedProduct> tune(int max_rows, std::span<const TunedProduct> known) {
    (void)max_rows, (void)known;
    return {};
  }

  // Called once by the thread that will make all calls below, before the first: places it.
  virtual void adopt_thread() {}

  // Measures for about 0.2 s, reading `memory`. Machines are shared: measure beside what is
  // compared.
  virtual Roof measure_roof(const Tensor& memory) {
    (void)memory;
    return {};
  }

  // ---- one step
  // --------------------------------------------------------------------------------------------
  // Step-lifetime scratch, uninitialised, valid until the next layout().
  virtual Tensor temp(DType dtype, Shape shape) = 0;

  // release() gives back what temp() gave since the mark. Inside a step.
  virtual Arena::Mark mark() const = 0;
  virtual void release(const Arena::Mark& mark) = 0;

  // Bytes that a forward of such a size and what comes with it (logits, the walk) need at most, on
  // top of what the model asks temp() for.
  virtual std::size_t workspace_bytes(const ForwardSize& size) const = 0;
  // Bytes that the largest step so far took: scratch and what the ops kept beside it.
  virtual std::size_t most_step_bytes() const = 0;

  // Derives the rows of a step from the plan, the trees and the table, and starts a new scratch
  // lifetime.
  virtual void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
                      Batch& batch) = 0;

  // out [tokens.size(), width] = rows of a packed matrix [vocab, width].
  virtual void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) = 0;

  // The same of plain rows (keep_rows), to the same bits.
  virtual void look_up(Tensor table, std::span<const Token> tokens, Tensor out) = 0;

  // out = rms_norm(x) * weight. x, out [rows, width] f32, weight f32 [width]. out may be x.
  virtual void norm(Tensor x, Tensor weight, float eps, Tensor out) = 0;

  // residual += delta, then out = rms_norm(residual) * weight. All [rows, width] f32.
  virtual void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) = 0;

  // residual += delta.
  virtual void add(Tensor residual, Tensor delta) = 0;

  // x *= factor, each product rounded once.
  virtual void scale(Tensor x, float factor) = 0;

  // x = cap * tanh(x / cap); cap > 0.
  virtual void soft_cap(Tensor x, float cap) = 0;

  // y [rows, out] = x [rows, in] * w^T + bias.
  virtual void linear(const PackedLinear& w, Tensor x, Tensor y) = 0;

  // qkv [rows, (heads + 2 * kv_heads) * head_dim]: normalises (optional) and rotates q and k,
  // writes q to `q` [rows, heads * head_dim] and stores k, v at batch.kv_slot.
  virtual void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                             const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                             Tensor q) = 0;

  // The same after their linear: of x [rows, in] with the weights of q|k|v. Backends may keep what
  // lies between to themselves.
  virtual void project_qkv(const PackedLinear& w, Tensor x, const RopeTable& rope,
                           const QkNorm& qk_norm, const AttentionShape& shape, const Batch& batch,
                           const KvLayer& kv, Tensor q);

  // How the rows of a batch attend in layers of this shape, for attention() in each of them. Valid
  // until the next layout(), and as long as the batch stays as it is.
  virtual const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) = 0;

  // out [rows, heads * head_dim]: each row attends its sequence's committed KV, the chain rows
  // before it and its own ancestors in the tree, all already stored, in logical position order:
  // two-pass softmax in blocks of 128 positions, blocks merged in order into spans of 512, spans
  // merged in order, by their maxima and sums.
  virtual void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) = 0;

  // The same before its linear: out [rows, o.out_width] = attention * o^T. Backends may keep what
  // lies between to themselves.
  virtual void attend(Tensor q, const KvLayer& kv, const AttentionPlan& plan, const PackedLinear& o,
                      Tensor out);

  // out [rows, width] = act(gate) * up, gate_up [rows, 2 * width] = gate | up.
  virtual void gated_act(Tensor gate_up, Activation act, Tensor out) = 0;

  // The same between its two linears: out [rows, down.out_width] = act(x * gate_up^T) * down^T.
  // Backends may keep what lies between to themselves.
  virtual void gated_mlp(const PackedLinear& gate_up, const PackedLinear& down, Activation act,
                         Tensor x, Tensor out);

  // out[i] = x[rows[i]].
  void gather_rows(Tensor x, std::span<const std::int32_t> rows, Tensor out);

  // The same into columns [column, column + width of x) of wider rows; all f32.
  virtual void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                              std::int64_t column) = 0;

  // out[to[i]] = x[from[i]], in order; all f32 of one width.
  virtual void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                         std::span<const std::int32_t> to) = 0;

  // out [rows, wa + wb] = a [rows, wa] | b [rows, wb], all f32.
  virtual void join_columns(Tensor a, Tensor b, Tensor out) = 0;

  // x [row, column] += value for all of them, in order; x f32.
  virtual void add_elements(Tensor x, std::span<const Addend> addends) = 0;

  // ---- what the host wants to know: it is where it was wanted once read_back() has returned, and
  // not before. Until then what is wanted stays where it is.
  virtual void read_back() = 0;

  // The k most probable entries of each row of logits [rows, vocab] f32; equal ones: the lowest id
  // first. For drafts, not for sampling: the probabilities are good to about 1e-6.
  virtual void top_tokens(Tensor logits, int k, TopTokens& out) = 0;

  // Draws k candidates from each of some rows of logits [rows, n] f32. Column i is the target's
  // token ids[i], or nothing where that is kNoToken; without ids it is token i. vocab: above all of
  // them.
  virtual void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                           std::span<const DrawRow> rows, int k, DrawnTokens& out) = 0;

  // Samples and walks every tree of the plan. logits [batch.logit_rows.size(), vocab] f32,
  // modified. Plan and trees, and what the plan points to, stay as they are until read_back().
  virtual void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
                      Tensor logits, Walk& walk) = 0;

  // Moves the KV of accepted nodes next to the prefix in every given layer. Does not touch the
  // table.
  virtual void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) = 0;
};

// Gives back at its end what temp() gave during its life.
class ScratchScope {
 public:
  explicit ScratchScope(Ops& ops) : ops_(ops), mark_(ops.mark()) {}
  ~ScratchScope() { ops_.release(mark_); }
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  Ops& ops_;
  const Arena::Mark mark_;
};

}  // namespace foretoken
