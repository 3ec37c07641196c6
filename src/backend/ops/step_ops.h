#pragma once
// StepOps: the operations of which a step computes its forwards, on float32 activations [rows,
// width]. Nothing here answers the host: see result_ops.h. The rules of ops.h hold: threads,
// errors, memory.
//
//   layout -> temp, embed -> { norm, project_qkv, attend, gated_mlp } of each layer -> linear
//                              or recur, gate             or route, mix_experts
//          -> (result_ops.h: verify, read_back) -> kv_keep
//
// Where two operations are neighbours (project_qkv, attend, gated_mlp), the joined one is defined
// by its parts: bits are the same, and a backend may keep to itself what lies between them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/activation.h"
#include "backend/attention_shape.h"
#include "backend/experts.h"
#include "backend/forward_size.h"
#include "backend/gate_curve.h"
#include "backend/kv_shape.h"
#include "backend/recurrent.h"
#include "backend/rope_table.h"
#include "backend/weights.h"
#include "batch/batch.h"
#include "batch/tree.h"
#include "tensor/arena.h"
#include "tensor/tensor.h"

namespace foretoken {

// A number that is added to an element of a matrix.
struct Addend {
  std::int32_t row = 0, column = 0;
  float value = 0;
};

// Matrices of one shape, of floats: one for each head.
using HeadLinears = std::span<const std::unique_ptr<PackedLinear>>;

// What a layer of latent attention makes of its rows, before it is stored. All f32.
struct LatentRows {
  Tensor kv;    // [rows, head_dim] = latent | part that rotates
  Tensor q;     // [rows, heads * width]: the end of each head is the part that rotates
  Tensor norm;  // [value_dim], of the latent
  float eps = 0;
  bool pairs_neighbours = false;  // elements 2 i and 2 i + 1 rotate together; they leave as halves
};

// Bug check: the arguments of StepOps::store_latent fit together.
void expect_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                   const Batch& batch, const KvLayer& kv, const Tensor& q);

class StepOps {
 public:
  virtual ~StepOps() = default;

  // Step-lifetime scratch, uninitialised, valid until the next layout().
  virtual Tensor temp(DType dtype, Shape shape) = 0;

  // release() gives back what temp() gave since the mark. Inside a step.
  virtual Arena::Mark mark() const = 0;
  virtual void release(const Arena::Mark& mark) = 0;
  // Gives the memory of what temp() has given so far back to the system, where it can. Between
  // steps.
  virtual void release_scratch() {}

  // Upper bound of the bytes that a forward of this size and what comes with it (logits, the walk)
  // need on top of what the model asks temp() for.
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

  // out = x - mean(x), of each row. x, out [rows, width] f32. out may be x.
  virtual void centre(Tensor x, Tensor out) = 0;

  // Each group of a row is normed apart: of x [rows, groups * width] f32, in place. weight f32
  // [groups, width].
  virtual void norm_groups(Tensor x, Tensor weight, float eps) = 0;

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

  // Of each head its own product: with n matrices [out, in], x [rows, n * a] and y [rows, n * b],
  // a >= in, b >= out: the first `out` of head i in y = the first `in` of head i in x * w[i]^T. The
  // rest of y stays. The matrices stay where they are, too.
  virtual void linear_heads(HeadLinears w, Tensor x, Tensor y) = 0;

  // Latent attention (head_dim = value_dim + rope.rotary_dim): normalises the latents
  // and rotates the other parts, stores both side by side as keys at batch.kv_slot, and writes the
  // rotated ends of the queries to the ends of the heads of `q` [rows, heads * head_dim].
  virtual void store_latent(const LatentRows& latent, const RopeTable& rope,
                            const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                            Tensor q) = 0;

  // qkv [rows, (heads + 2 * kv_heads) * head_dim]: normalises (optional) and rotates q and k,
  // writes q to `q` [rows, heads * head_dim] and stores k, v at batch.kv_slot. Of no KV heads there
  // is nothing to store: the layer reads keys and values of another one.
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

  // out [rows, heads * out_dim()]: each row attends its sequence's committed KV, the chain rows
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

  // Which experts each row uses, and by which weights: chosen [rows, routing.chosen] int32, by
  // rising number, weights the same f32. logits [rows, experts] f32.
  virtual void route(Tensor logits, const Routing& routing, const RouterVectors& vectors,
                     Tensor chosen, Tensor weights) = 0;

  // out [rows, width] = the sum over j, in order, of weights[j] * the gated MLP of expert chosen[j].
  // A row's result is that of gated_mlp for it alone, whichever rows share its experts.
  virtual void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x,
                           Tensor chosen, Tensor weights, Tensor out) = 0;

  // x[row] *= 1 / (1 + e^-gate[row]). x [rows, width], gate [rows, 1], both f32.
  virtual void gate_rows(Tensor x, Tensor gate) = 0;

  // x *= curve(gate), element by element; both f32 of one shape.
  virtual void gate(Tensor x, Tensor gate, GateCurve curve) = 0;

  // The rows of a layer that keeps a state, as recurrent.h defines it, each behind its sequence's
  // committed text, the chain rows before it and its own ancestors in the tree. Without heads, out
  // [rows, channels] is what comes out of the convolution; else it is [rows, value_heads *
  // value_dim]. Leaves in kv.states what kv_keep and later steps read.
  virtual void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
                     const KvLayer& kv, Tensor out) = 0;

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

  // Moves the KV of accepted nodes next to the prefix in every given layer, and makes states of
  // blocks that they complete. The walk is the host's:
  // read_back() has returned it. Does not touch the table.
  virtual void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) = 0;

  // Copies states in the layers that keep some, in order: what lies before a block, not its items.
  virtual void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) = 0;
};

// Gives back at its end what temp() gave during its life.
class ScratchScope {
 public:
  explicit ScratchScope(StepOps& ops) : ops_(ops), mark_(ops.mark()) {}
  ~ScratchScope() { ops_.release(mark_); }
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  StepOps& ops_;
  const Arena::Mark mark_;
};

}  // namespace foretoken
