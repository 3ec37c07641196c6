#pragma once
// The kernels of op_kernels.h, written once over V16 and compiled by each instruction set's
// translation unit. Everything here lives in an anonymous namespace.

#include "backend/cpu/attention/attention_bf16.h"
#include "backend/cpu/attention/attention_kernel.h"
#include "backend/cpu/rows/router_kernels.h"
#include "backend/cpu/rows/row_kernels.h"
#include "backend/cpu/rows/top_tokens_kernel.h"
#include "backend/cpu/table/op_kernels.h"

namespace foretoken {
namespace {

OpKernels op_kernels() {
  return {
      .norm = norm_row,
      .centre = centre_row,
      .add = add_row,
      .scale = scale_row,
      .soft_cap = soft_cap_row,
      .gated_act = {gated_act_row<Activation::kSilu>, gated_act_row<Activation::kGeluTanh>,
                    gated_act_row<Activation::kGelu>, gated_act_row<Activation::kClampedSwiglu>},
      .router_scores = {softmax_row, logistic_row, logits_row},
      .rope_store = {rope_store_row<KvBf16>, rope_store_row<KvF16>, rope_store_row<KvF32>,
                     rope_store_row<KvInt8>, rope_store_row<KvE4M3>, rope_store_row<KvE5M2>},
      .store_latent = {store_latent_row<KvBf16>, store_latent_row<KvF16>, store_latent_row<KvF32>,
                       store_latent_row<KvInt8>, store_latent_row<KvE4M3>,
                       store_latent_row<KvE5M2>},
      .attention = {bf16_attention_item<TileLines>, attention_item<KvF16>, attention_item<KvF32>,
                    attention_item<KvInt8>, attention_item<KvE4M3>, attention_item<KvE5M2>},
      .attention_pair = bf16_attention_item<PairLines>,
      .merge_spans = merge_item_spans,
      .top_tokens = top_tokens_row};
}

}  // namespace
}  // namespace foretoken
