"""Writes tests/golden: tiny random checkpoints and the logits Hugging Face transformers gives.

    pip install torch transformers safetensors
    python tools/golden/make_golden.py [folder [prefix]]   prefix: checkpoints called so alone; the
                                                           others stay as they are

A checkpoint folder is what `save_pretrained` writes, with config.json. Cases vary the config over
one checkpoint (rotary scaling and sliding windows have no weights). cases.json lists them:
    name, checkpoint   which weights
    config             the config.json of the case, in the style the case wants to test
    context_length     what the server is started with; absent: the default
    tokens             the prompt
logits/<name>.safetensors holds `rows` (positions, i64) and `logits` [rows, vocab] float32, computed in
float32 from the stored weights; where the config is the checkpoint's own, also `layer_1_input` and
`last_hidden` [rows, hidden].
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB = 64
SIZES = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=80, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
             bos_token_id=1, eos_token_id=2, initializer_range=0.15)
TOWER = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
             image_size=28, patch_size=14)
GROWING = dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=16,
               beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
               llama_4_scaling_beta=0.5)
LATENT = dict(kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=24,
              num_key_value_heads=4, pad_token_id=0)
EXPERTS = dict(moe_intermediate_size=24, num_experts_per_tok=3)
DELTA = dict(linear_key_head_dim=16, linear_value_head_dim=24, linear_num_key_heads=2,
             linear_num_value_heads=4)
MAMBA = dict(mamba_n_heads=8, mamba_d_state=24, shared_intermediate_size=72, num_local_experts=0,
             num_experts_per_tok=0, pad_token_id=0, time_step_limit=[0.0, 1e9])
GEMMA4 = dict(head_dim=16, global_head_dim=32, sliding_window=8, pad_token_id=0,
              layer_types=["sliding_attention", "full_attention"] * 3,
              rope_parameters=dict(
                  sliding_attention=dict(rope_type="default", rope_theta=100.0),
                  full_attention=dict(rope_type="proportional", partial_rotary_factor=0.3,
                                      rope_theta=1000.0)))
SECTIONS = dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5,
                mrope_interleaved=True, mrope_section=[4, 2, 2])
IMAGES = dict(image_token_id=VOCAB - 1, video_token_id=VOCAB - 2, vision_start_token_id=VOCAB - 3,
              vision_end_token_id=VOCAB - 4)
EYES = dict(hidden_size=16, intermediate_size=16, depth=1, num_heads=2, out_hidden_size=64,
            num_position_embeddings=4, deepstack_visual_indexes=[0])
TRAINED = 32  # original length of the scaled variants: 96 tokens go well beyond it

# name: (config class, settings, stored dtype, size limit of a shard)
CHECKPOINTS = {
    "llama": ("LlamaConfig", dict(head_dim=16), torch.bfloat16, "1GB"),
    "llama_bias_tied": ("LlamaConfig",
                        dict(head_dim=32, num_key_value_heads=4, attention_bias=True, mlp_bias=True,
                             tie_word_embeddings=True, rms_norm_eps=1e-5), torch.float32, "100KB"),
    "mistral": ("MistralConfig", dict(sliding_window=None), torch.float16, "1GB"),
    "qwen2": ("Qwen2Config", dict(tie_word_embeddings=True, num_key_value_heads=1), torch.bfloat16,
              "60KB"),
    "qwen3": ("Qwen3Config", dict(head_dim=32, rope_parameters=dict(rope_type="default",
                                                                    rope_theta=1e6)),
              torch.bfloat16, "1GB"),
    # Four layers: rotated and not, with a window and without.
    "smollm3": ("SmolLM3Config",
                dict(num_hidden_layers=4, no_rope_layer_interval=2, pad_token_id=0), torch.bfloat16,
                "1GB"),
    "granite": ("GraniteConfig",
                dict(embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.1,
                     logits_scaling=8.0, tie_word_embeddings=True), torch.bfloat16, "1GB"),
    "gemma2": ("Gemma2Config",
               dict(num_hidden_layers=3, head_dim=32, query_pre_attn_scalar=24, sliding_window=8,
                    attn_logit_softcapping=5.0, final_logit_softcapping=3.0, pad_token_id=0),
               torch.bfloat16, "1GB"),
    "phi3": ("Phi3Config", dict(pad_token_id=0), torch.bfloat16, "1GB"),
    "gemma3": ("Gemma3TextConfig",
               dict(num_hidden_layers=4, head_dim=32, query_pre_attn_scalar=24, sliding_window=8,
                    sliding_window_pattern=3, pad_token_id=0), torch.bfloat16, "1GB"),
    "olmo2": ("Olmo2Config", dict(num_key_value_heads=1, pad_token_id=0), torch.bfloat16, "1GB"),
    "olmo3": ("Olmo3Config", dict(num_hidden_layers=4, sliding_window=8, pad_token_id=0,
                                  tie_word_embeddings=True), torch.bfloat16, "1GB"),
    "glm4": ("Glm4Config", dict(head_dim=32, pad_token_id=0), torch.bfloat16, "1GB"),
    # With a tower of images, which is not read; the writer of the hub's names.
    "gemma3_towers": ("Gemma3Config",
                      dict(text_config={**SIZES, **dict(num_hidden_layers=3, head_dim=16,
                                                        num_key_value_heads=1, sliding_window=16,
                                                        sliding_window_pattern=2)},
                           vision_config=TOWER, image_token_index=VOCAB, mm_tokens_per_image=4),
                      torch.bfloat16, "1GB"),
    "mistral3": ("Mistral3Config",
                 dict(text_config={**SIZES, **dict(model_type="ministral3", head_dim=16,
                                                   pad_token_id=0, rope_parameters=GROWING)},
                      vision_config=dict(TOWER, model_type="pixtral", head_dim=8),
                      image_token_index=VOCAB, tie_word_embeddings=False), torch.bfloat16, "1GB"),
    "mixtral": ("MixtralConfig", dict(num_local_experts=5, num_experts_per_tok=2), torch.bfloat16,
                "1GB"),
    # The first layer is dense.
    "qwen2_moe": ("Qwen2MoeConfig",
                  dict(num_hidden_layers=3, num_experts=6, num_experts_per_tok=3,
                       moe_intermediate_size=40, shared_expert_intermediate_size=72,
                       mlp_only_layers=[0]), torch.bfloat16, "1GB"),
    "qwen3_moe": ("Qwen3MoeConfig",
                  dict(head_dim=32, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=48,
                       norm_topk_prob=True), torch.bfloat16, "100KB"),
    "olmoe": ("OlmoeConfig", dict(num_experts=7, num_experts_per_tok=2, pad_token_id=0,
                                  tie_word_embeddings=True), torch.float32, "1GB"),
    "glm4_moe": ("Glm4MoeConfig",
                 dict(head_dim=32, n_routed_experts=8, num_experts_per_tok=3, n_group=4,
                      topk_group=2, moe_intermediate_size=24, routed_scaling_factor=1.8,
                      n_shared_experts=2, use_qk_norm=True, num_hidden_layers=3,
                      attention_bias=True), torch.bfloat16, "1GB"),
    "gpt_oss": ("GptOssConfig",
                dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=8,
                     intermediate_size=96,
                     rope_parameters=dict(rope_type="yarn", rope_theta=150000.0, factor=4.0,
                                          beta_fast=32.0, beta_slow=1.0, truncate=False,
                                          original_max_position_embeddings=TRAINED)),
                torch.bfloat16, "1GB"),
    # Latent attention without experts: queries of the input itself, and of a latent of their own.
    "deepseek_v2": ("DeepseekV2Config",
                    dict(LATENT, q_lora_rank=None, first_k_dense_replace=2, rms_norm_eps=0.03),
                    torch.bfloat16, "1GB"),
    "deepseek_v2_bias": ("DeepseekV2Config",
                         dict(LATENT, kv_lora_rank=40, q_lora_rank=24, qk_nope_head_dim=12,
                              v_head_dim=20, first_k_dense_replace=2, attention_bias=True,
                              mlp_bias=True, num_attention_heads=2, num_key_value_heads=2,
                              tie_word_embeddings=True), torch.float32, "1GB"),
    "deepseek_v3": ("DeepseekV3Config",
                    dict(LATENT, q_lora_rank=48, qk_nope_head_dim=32, v_head_dim=32,
                         first_k_dense_replace=2, num_nextn_predict_layers=0), torch.bfloat16,
                    "1GB"),
    "glm4_moe_lite": ("Glm4MoeLiteConfig",
                      dict(LATENT, q_lora_rank=32, kv_lora_rank=64, v_head_dim=48,
                           mlp_layer_types=["dense", "dense"]), torch.bfloat16, "1GB"),
    # The same families with experts in some layers.
    "deepseek_v2_experts": ("DeepseekV2Config",
                            dict(LATENT, **EXPERTS, q_lora_rank=None, first_k_dense_replace=1,
                                 n_shared_experts=2, n_routed_experts=8), torch.bfloat16, "1GB"),
    "deepseek_v3_experts": ("DeepseekV3Config",
                            dict(LATENT, **EXPERTS, q_lora_rank=32, first_k_dense_replace=1,
                                 n_shared_experts=1, n_routed_experts=12, n_group=4, topk_group=2,
                                 routed_scaling_factor=1.7, num_nextn_predict_layers=0),
                            torch.bfloat16, "1GB"),
    "glm4_moe_lite_experts": ("Glm4MoeLiteConfig",
                              dict(LATENT, **EXPERTS, q_lora_rank=32, n_routed_experts=6),
                              torch.bfloat16, "1GB"),
    # Layers that keep a state, two blocks of its text and more; odd sizes.
    "qwen3_next": ("Qwen3NextConfig",
                   dict(DELTA, head_dim=32, num_hidden_layers=4, num_experts=6,
                        num_experts_per_tok=2, moe_intermediate_size=24,
                        shared_expert_intermediate_size=40, pad_token_id=0), torch.bfloat16, "1GB"),
    "qwen3_5": ("Qwen3_5TextConfig",
                dict(DELTA, head_dim=16, linear_num_value_heads=6, linear_conv_kernel_dim=3,
                     layer_types=["full_attention", "linear_attention", "linear_attention"],
                     num_hidden_layers=3, tie_word_embeddings=True, attention_bias=True),
                torch.float32, "1GB"),
    "qwen3_5_towers": ("Qwen3_5Config",
                       dict(text_config={**SIZES, **dict(DELTA, head_dim=32, num_hidden_layers=5,
                                                         rope_parameters=SECTIONS)},
                            vision_config=dict(hidden_size=16, intermediate_size=16, depth=1,
                                               num_heads=2, out_hidden_size=64,
                                               num_position_embeddings=4),
                            image_token_id=VOCAB - 1, video_token_id=VOCAB - 2,
                            vision_start_token_id=VOCAB - 3, vision_end_token_id=VOCAB - 4),
                       torch.bfloat16, "1GB"),
    "lfm2": ("Lfm2Config",
             dict(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"],
                  block_multiple_of=16, intermediate_size=130), torch.bfloat16, "1GB"),
    "lfm2_bias": ("Lfm2Config",
                  dict(num_hidden_layers=2, layer_types=["full_attention", "conv"], conv_bias=True,
                       conv_L_cache=4, block_auto_adjust_ff_dim=False, norm_eps=1e-3),
                  torch.float32, "1GB"),
    "granite_hybrid": ("GraniteMoeHybridConfig",
                       dict(MAMBA, num_hidden_layers=4, embedding_multiplier=3.0,
                            residual_multiplier=0.6, attention_multiplier=0.2, logits_scaling=0.7,
                            layer_types=["linear_attention", "linear_attention", "full_attention",
                                         "linear_attention"]), torch.bfloat16, "1GB"),
    "granite_hybrid_bias": ("GraniteMoeHybridConfig",
                            dict(MAMBA, mamba_conv_bias=False, mamba_proj_bias=True,
                                 position_embedding_type="rope", time_step_limit=[0.4, 0.9],
                                 layer_types=["linear_attention", "full_attention"]),
                            torch.float32, "1GB"),
    # Two sizes of heads, values that are keys, and what enters by towers or without them.
    "gemma4_unified": ("Gemma4UnifiedConfig",
                       dict(text_config={**SIZES, **GEMMA4, **dict(
                                num_hidden_layers=4, layer_types=GEMMA4["layer_types"][:4],
                                attention_k_eq_v=True,
                                num_global_key_value_heads=1, final_logit_softcapping=3.0)},
                            vision_config=dict(patch_size=2, pooling_kernel_size=2, mm_embed_dim=16,
                                               mm_posemb_size=4),
                            audio_config=None), torch.bfloat16, "1GB"),
    # Inputs by layer; the last layers read keys and values of others and are wider.
    "gemma4": ("Gemma4Config",
               dict(text_config={**SIZES, **GEMMA4, **dict(
                        num_hidden_layers=6, num_key_value_heads=1, num_kv_shared_layers=3,
                        use_double_wide_mlp=True, hidden_size_per_layer_input=24,
                        vocab_size_per_layer_input=VOCAB)},
                    vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                       num_attention_heads=2, num_key_value_heads=2, head_dim=8,
                                       patch_size=2, position_embedding_size=4),
                    audio_config=None), torch.bfloat16, "1GB"),
    "gemma4_experts": ("Gemma4TextConfig",
                       dict(GEMMA4, hidden_size_per_layer_input=0, num_hidden_layers=3,
                            layer_types=["sliding_attention", "full_attention", "full_attention"],
                            enable_moe_block=True, num_experts=6, top_k_experts=2,
                            moe_intermediate_size=24, attention_bias=True), torch.float32, "1GB"),
    # The same with experts.
    "qwen3_5_moe": ("Qwen3_5MoeTextConfig",
                    dict(DELTA, head_dim=16, num_hidden_layers=3, num_experts=7,
                         num_experts_per_tok=3, moe_intermediate_size=24,
                         shared_expert_intermediate_size=40,
                         layer_types=["linear_attention", "full_attention", "linear_attention"]),
                    torch.bfloat16, "1GB"),
    "lfm2_moe": ("Lfm2MoeConfig",
                 dict(num_hidden_layers=4, layer_types=["conv", "full_attention", "conv", "conv"],
                      num_dense_layers=1, num_experts=6, num_experts_per_tok=2,
                      moe_intermediate_size=24, routed_scaling_factor=1.4), torch.bfloat16, "1GB"),
    "granite_hybrid_experts": ("GraniteMoeHybridConfig",
                               dict({**MAMBA, **dict(num_local_experts=5, num_experts_per_tok=2,
                                                     intermediate_size=40)},
                                    num_hidden_layers=3, residual_multiplier=0.6,
                                    layer_types=["linear_attention", "full_attention",
                                                 "linear_attention"]), torch.bfloat16, "1GB"),
    # Keys and queries of two groups of heads.
    "granite_hybrid_groups": ("GraniteMoeHybridConfig",
                              dict(MAMBA, num_hidden_layers=3, mamba_n_groups=2,
                                   layer_types=["linear_attention", "full_attention",
                                                "linear_attention"]), torch.bfloat16, "1GB"),
    # No dense layer.
    "glm4_moe_lite_sparse": ("Glm4MoeLiteConfig",
                             dict(LATENT, **EXPERTS, q_lora_rank=32, n_routed_experts=6,
                                  mlp_layer_types=["sparse", "sparse"], first_k_dense_replace=0),
                             torch.bfloat16, "1GB"),
    # Chunks and full layers, experts and dense layers, by the usual intervals and listed.
    "llama4": ("Llama4TextConfig",
               dict(head_dim=16, num_hidden_layers=4, intermediate_size=48,
                    intermediate_size_mlp=88, num_local_experts=5, interleave_moe_layer_step=2,
                    no_rope_layer_interval=3, attention_chunk_size=24, floor_scale=16,
                    attn_scale=0.4, rope_parameters=dict(
                        rope_type="llama3", rope_theta=1e4, factor=16.0, low_freq_factor=1.0,
                        high_freq_factor=1.0, original_max_position_embeddings=32)),
               torch.bfloat16, "1GB"),
    "llama4_towers": ("Llama4Config",
                      dict(text_config={**SIZES, **dict(
                               num_hidden_layers=3, head_dim=32, intermediate_size=40,
                               intermediate_size_mlp=72, num_local_experts=4, moe_layers=[0, 2],
                               no_rope_layers=[0, 1, 1], attention_chunk_size=20,
                               use_qk_norm=False, attention_bias=True, floor_scale=9, attn_scale=0.5,
                               tie_word_embeddings=False)},
                           vision_config=dict(hidden_size=16, intermediate_size=64,
                                              num_hidden_layers=1, num_attention_heads=2,
                                              image_size=28, patch_size=14, vision_output_dim=16,
                                              projector_input_dim=16, projector_output_dim=16),
                           image_token_index=VOCAB - 1, boi_token_index=VOCAB - 2,
                           eoi_token_index=VOCAB - 3), torch.bfloat16, "1GB"),
    # Relatives of Llama and Qwen.
    "seed_oss": ("SeedOssConfig", dict(head_dim=32, attention_out_bias=True, mlp_bias=True),
                 torch.bfloat16, "1GB"),
    "ernie4_5": ("Ernie4_5Config", dict(head_dim=32, pad_token_id=0), torch.bfloat16, "1GB"),
    "ernie4_5_bias": ("Ernie4_5Config",
                      dict(head_dim=16, use_bias=True, tie_word_embeddings=False, pad_token_id=0),
                      torch.float32, "1GB"),
    "exaone4": ("Exaone4Config",
                dict(num_hidden_layers=4, head_dim=32, sliding_window=8, sliding_window_pattern=3),
                torch.bfloat16, "1GB"),
    "qwen2_vl": ("Qwen2VLConfig",
                 dict(text_config={**SIZES, **dict(num_key_value_heads=1, rope_parameters=dict(
                          rope_type="default", rope_theta=1e5, mrope_section=[4, 2, 2]))},
                      vision_config=dict(depth=1, embed_dim=32, hidden_size=64, num_heads=2),
                      tie_word_embeddings=True, **IMAGES), torch.bfloat16, "1GB"),
    "qwen2_5_vl": ("Qwen2_5_VLConfig",
                   dict(text_config={**SIZES, **dict(num_hidden_layers=3, rope_parameters=dict(
                            rope_type="default", rope_theta=1e6, mrope_section=[2, 3, 3]))},
                        vision_config=dict(depth=1, hidden_size=32, intermediate_size=32,
                                           num_heads=2, out_hidden_size=64,
                                           fullatt_block_indexes=[0]),
                        **IMAGES), torch.bfloat16, "1GB"),
    "qwen3_vl": ("Qwen3VLConfig",
                 dict(text_config={**SIZES, **dict(head_dim=32, attention_bias=True,
                                                   rope_parameters=dict(
                          rope_type="default", rope_theta=5e5, mrope_interleaved=True,
                          mrope_section=[8, 4, 4]))},
                      vision_config=EYES, tie_word_embeddings=True, **IMAGES), torch.bfloat16,
                 "1GB"),
    "qwen3_vl_moe": ("Qwen3VLMoeConfig",
                     dict(text_config={**SIZES, **dict(
                              num_hidden_layers=3, head_dim=16, num_experts=6, decoder_sparse_step=2,
                              num_experts_per_tok=2, moe_intermediate_size=24, rope_parameters=dict(
                                  rope_type="default", rope_theta=5e5, mrope_interleaved=True,
                                  mrope_section=[4, 2, 2]))},
                          vision_config=EYES, **IMAGES), torch.bfloat16, "1GB"),
    "hunyuan_dense": ("HunYuanDenseV1Config", dict(head_dim=32, attention_bias=True),
                      torch.bfloat16, "1GB"),
    "internvl": ("InternVLConfig",
                 dict(text_config={**SIZES, **dict(model_type="qwen3", head_dim=32)},
                      vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                         num_attention_heads=2, image_size=[28, 28],
                                         patch_size=[14, 14]),
                      image_token_id=VOCAB - 1, tie_word_embeddings=False), torch.bfloat16, "1GB"),
    "lfm2_vl": ("Lfm2VlConfig",
                dict(text_config={**SIZES, **dict(model_type="lfm2", num_hidden_layers=3,
                                                  layer_types=["conv", "full_attention", "conv"])},
                     vision_config=dict(model_type="siglip2_vision_model", hidden_size=16,
                                        intermediate_size=16, num_hidden_layers=1,
                                        num_attention_heads=2, patch_size=2, num_patches=16),
                     projector_hidden_size=16, image_token_id=VOCAB - 1), torch.bfloat16, "1GB"),
    "cohere": ("CohereConfig", dict(logit_scale=0.3, num_key_value_heads=1, pad_token_id=3),
               torch.bfloat16, "1GB"),
    "cohere2": ("Cohere2Config",
                dict(num_hidden_layers=4, logit_scale=0.2, sliding_window=8, attention_bias=True,
                     layer_types=["sliding_attention", "sliding_attention", "full_attention",
                                  "sliding_attention"], layer_norm_eps=1e-3, pad_token_id=0),
                torch.bfloat16, "1GB"),
}
# The seed of a checkpoint or case is its place, but for these.
SEEDS = {"qwen3_5_moe": 35, "lfm2_moe": 36, "granite_hybrid_experts": 37,
         "qwen3_5_moe_default": 77, "lfm2_moe_default": 78, "granite_hybrid_experts_default": 79}
# Experts of these are floats of 4 bits; the same weights as blocks are a checkpoint of their own.
BLOCKS = {"gpt_oss": "gpt_oss_mxfp4"}

HALF = 8  # pairs of a head of 16
SHORT = [1.0 + 0.05 * i for i in range(HALF)]
LONG = [1.0 + 0.6 * i for i in range(HALF)]

# (name, checkpoint, changes to its config, prompt length, options). "old": rope_scaling beside
# rope_theta; "type": the same with the oldest key name.
CASES = [
    ("llama_default", "llama", {}, 40, {}),
    ("llama_theta_old_style", "llama", dict(rope=dict(rope_theta=500000.0)), 40, dict(style="old")),
    ("llama_linear", "llama", dict(rope=dict(rope_type="linear", factor=4.0)), 96, {}),
    ("llama_linear_old_type", "llama", dict(rope=dict(rope_type="linear", factor=2.5)), 96,
     dict(style="type")),
    ("llama_dynamic_within", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=4.0)), TRAINED, {}),
    ("llama_dynamic_beyond", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=4.0)), 96,
     dict(context_length=96)),
    ("llama_dynamic_old_type", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=3.0)), 80,
     dict(context_length=80, style="type")),
    ("llama_llama3", "llama",
     dict(rope=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                    high_freq_factor=4.0, original_max_position_embeddings=TRAINED)), 96, {}),
    ("llama_llama3_old", "llama",
     dict(rope=dict(rope_type="llama3", rope_theta=10000.0, factor=32.0, low_freq_factor=1.0,
                    high_freq_factor=4.0, original_max_position_embeddings=64)), 96,
     dict(style="old")),
    ("llama_yarn", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96, {}),
    ("llama_yarn_attention_factor", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    attention_factor=0.8, beta_fast=16.0, beta_slow=2.0)), 96, dict(style="old")),
    ("llama_yarn_mscale", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    mscale=0.7, mscale_all_dim=1.2)), 96, {}),
    ("llama_yarn_untruncated", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    truncate=False)), 96, {}),
    ("llama_longrope_short", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG,
                    original_max_position_embeddings=TRAINED, factor=None)), 30,
     dict(context_length=TRAINED)),
    ("llama_longrope_long", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG,
                    original_max_position_embeddings=TRAINED, factor=None)), 96, {}),
    ("llama_longrope_attention_factor", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG, factor=4.0,
                    original_max_position_embeddings=TRAINED, attention_factor=1.3)), 96,
     dict(style="old")),
    ("llama_bias_tied_default", "llama_bias_tied", {}, 40, {}),
    ("llama_bias_tied_llama3", "llama_bias_tied",
     dict(rope=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=TRAINED)), 96, dict(style="old")),
    ("mistral_default", "mistral", {}, 40, {}),
    ("mistral_window", "mistral", dict(sliding_window=8), 60, {}),
    ("mistral_yarn", "mistral",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96,
     dict(style="type")),
    ("qwen2_default", "qwen2", {}, 40, {}),
    ("qwen2_window", "qwen2",
     dict(use_sliding_window=True, sliding_window=8, max_window_layers=1), 60, {}),
    ("qwen2_window_off", "qwen2",
     dict(use_sliding_window=False, sliding_window=8, max_window_layers=1), 60, {}),
    ("qwen2_yarn", "qwen2",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96,
     dict(style="old")),
    ("qwen3_default", "qwen3", {}, 40, {}),
    ("qwen3_window_layer_types", "qwen3",
     dict(use_sliding_window=True, sliding_window=8,
          layer_types=["sliding_attention", "full_attention"]), 60, {}),
    ("qwen3_yarn", "qwen3",
     dict(rope=dict(rope_type="yarn", factor=4.0, rope_theta=1e6,
                    original_max_position_embeddings=TRAINED)), 96, {}),
    ("smollm3_default", "smollm3", {}, 40, {}),
    ("smollm3_layers_listed", "smollm3",
     dict(no_rope_layers=[0, 1, 1, 0], use_sliding_window=True, sliding_window=8,
          layer_types=["full_attention", "sliding_attention", "full_attention",
                       "sliding_attention"]), 60, {}),
    ("granite_default", "granite", {}, 40, {}),
    ("gemma2_default", "gemma2", {}, 60, {}),
    ("gemma2_uncapped", "gemma2",
     dict(attn_logit_softcapping=None, final_logit_softcapping=None, hidden_activation="gelu"), 40,
     {}),
    ("phi3_default", "phi3", {}, 40, {}),
    ("phi3_partial_rotary", "phi3",
     dict(sliding_window=24, rope=dict(rope_type="default", partial_rotary_factor=0.5)), 60, {}),
    ("gemma3_default", "gemma3", {}, 60, {}),
    # As the hub has it: scaled positions of the global layers only, in the older style.
    ("gemma3_linear_old_style", "gemma3",
     dict(final_logit_softcapping=3.0, num_key_value_heads=2,
          rope_parameters=dict(full_attention=dict(rope_type="linear", factor=4.0, rope_theta=5e5),
                               sliding_attention=dict(rope_type="default", rope_theta=100.0))), 96,
     dict(style="old")),
    ("gemma3_towers_default", "gemma3_towers", {}, 60, {}),
    ("olmo2_default", "olmo2", {}, 40, {}),
    ("olmo3_default", "olmo3", {}, 60, {}),
    ("olmo3_yarn", "olmo3",
     dict(rope_parameters=dict(
         full_attention=dict(rope_type="yarn", rope_theta=5e5, factor=4.0, attention_factor=1.2,
                             original_max_position_embeddings=TRAINED),
         sliding_attention=dict(rope_type="default", rope_theta=5e5))), 96, {}),
    ("glm4_default", "glm4", {}, 40, {}),
    ("glm4_whole_heads", "glm4",
     dict(rope=dict(rope_type="default", rope_theta=500.0, partial_rotary_factor=1.0)), 40, {}),
    ("mistral3_growing_scores", "mistral3", {}, 60, {}),
    # As Phi-4-mini has it: a part of each head, in long wavelengths.
    ("phi3_partial_longrope", "phi3",
     dict(original_max_position_embeddings=TRAINED,
          rope=dict(rope_type="longrope", partial_rotary_factor=0.75, short_factor=SHORT[:6],
                    long_factor=LONG[:6], original_max_position_embeddings=TRAINED)), 96, {}),
    ("mixtral_default", "mixtral", {}, 40, {}),
    ("mixtral_window", "mixtral", dict(sliding_window=8, num_experts_per_tok=5), 60, {}),
    ("qwen2_moe_default", "qwen2_moe", {}, 40, {}),
    ("qwen2_moe_normalised", "qwen2_moe",
     dict(norm_topk_prob=True, use_sliding_window=True, sliding_window=8, max_window_layers=2), 60,
     {}),
    ("qwen3_moe_default", "qwen3_moe", {}, 40, {}),
    ("qwen3_moe_plain_weights", "qwen3_moe",
     dict(norm_topk_prob=False, num_experts_per_tok=1, use_sliding_window=True, sliding_window=8),
     60, {}),
    ("olmoe_default", "olmoe", {}, 40, {}),
    ("glm4_moe_default", "glm4_moe", {}, 40, {}),
    ("glm4_moe_plain", "glm4_moe",
     dict(n_group=1, topk_group=1, norm_topk_prob=False, routed_scaling_factor=1.0), 40, {}),
    ("gpt_oss_default", "gpt_oss", {}, 60, {}),
    ("gpt_oss_layers_listed", "gpt_oss",
     dict(layer_types=["full_attention", "sliding_attention"], num_experts_per_tok=1), 60, {}),
    ("deepseek_v2_default", "deepseek_v2", {}, 40, {}),
    # As the hub has it: scores are larger by the square of what mscale_all_dim says.
    ("deepseek_v2_yarn", "deepseek_v2",
     dict(rope=dict(rope_type="yarn", factor=40.0, beta_fast=32, beta_slow=1, mscale=0.707,
                    mscale_all_dim=0.707, original_max_position_embeddings=TRAINED)), 96,
     dict(style="type")),
    ("deepseek_v2_bias_default", "deepseek_v2_bias", {}, 40, {}),
    ("deepseek_v3_default", "deepseek_v3", {}, 40, {}),
    ("deepseek_v3_halves", "deepseek_v3", dict(rope_interleave=False), 40, {}),
    ("deepseek_v3_yarn", "deepseek_v3",
     dict(rope=dict(rope_type="yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.6,
                    original_max_position_embeddings=TRAINED)), 96, {}),
    ("deepseek_v3_linear_mscale", "deepseek_v3",
     dict(rope=dict(rope_type="linear", factor=4.0, mscale_all_dim=1.0)), 60, {}),
    ("glm4_moe_lite_default", "glm4_moe_lite", {}, 40, {}),
    ("deepseek_v2_experts_default", "deepseek_v2_experts", {}, 40, {}),
    ("deepseek_v2_experts_groups", "deepseek_v2_experts",
     dict(topk_method="group_limited_greedy", n_group=4, topk_group=2, routed_scaling_factor=1.6),
     40, {}),
    ("deepseek_v3_experts_default", "deepseek_v3_experts", {}, 40, {}),
    ("deepseek_v3_experts_not_normalised", "deepseek_v3_experts",
     dict(norm_topk_prob=False, first_k_dense_replace=1), 40, {}),
    ("glm4_moe_lite_experts_default", "glm4_moe_lite_experts", {}, 40, {}),
    ("qwen3_next_default", "qwen3_next", {}, 96, {}),
    ("qwen3_next_whole_heads", "qwen3_next",
     dict(norm_topk_prob=False,
          rope=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=1.0)), 40, {}),
    ("qwen3_5_default", "qwen3_5", {}, 96, {}),
    ("qwen3_5_towers_default", "qwen3_5_towers", {}, 64, {}),
    ("lfm2_default", "lfm2", {}, 70, {}),
    ("lfm2_bias_default", "lfm2_bias", {}, 40, {}),
    ("granite_hybrid_default", "granite_hybrid", {}, 96, {}),
    ("granite_hybrid_bias_default", "granite_hybrid_bias", {}, 70, {}),
    ("gemma4_unified_default", "gemma4_unified", {}, 60, {}),
    ("gemma4_default", "gemma4", {}, 60, {}),
    ("gemma4_unified_global", "gemma4_unified", {}, 40, dict(style="global")),
    ("gemma4_experts_default", "gemma4_experts", {}, 60, {}),
    ("qwen3_5_moe_default", "qwen3_5_moe", {}, 70, {}),
    ("lfm2_moe_default", "lfm2_moe", {}, 70, {}),
    ("granite_hybrid_experts_default", "granite_hybrid_experts", {}, 70, {}),
    ("granite_hybrid_groups_default", "granite_hybrid_groups", {}, 70, {}),
    ("glm4_moe_lite_sparse_default", "glm4_moe_lite_sparse", {}, 40, {}),
    ("granite_hybrid_bias_least_dt", "granite_hybrid_bias",
     dict(time_step_limit=[0.9, {"__float__": "Infinity"}]), 40, {}),
    ("llama4_default", "llama4", {}, 90, {}),
    ("llama4_layers_listed", "llama4",
     dict(layer_types=["full_attention", "chunked_attention", "full_attention",
                       "chunked_attention"], no_rope_layers=[1, 0, 1, 1], moe_layers=[1, 3],
          rope=dict(rope_type="default", rope_theta=5e3)), 60, {}),
    ("llama4_plain", "llama4",
     dict(attention_chunk_size=None, layer_types=None, use_qk_norm=False,
          attn_temperature_tuning=False), 60, {}),
    ("llama4_towers_default", "llama4_towers", {}, 70, {}),
    ("seed_oss_default", "seed_oss", {}, 40, {}),
    ("ernie4_5_default", "ernie4_5", {}, 40, {}),
    ("ernie4_5_bias_default", "ernie4_5_bias", {}, 40, {}),
    ("exaone4_default", "exaone4", {}, 60, {}),
    ("exaone4_whole", "exaone4",
     dict(sliding_window=None, layer_types=["full_attention"] * 4,
          rope=dict(rope_type="llama3", factor=16.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=TRAINED)), 60, {}),
    ("qwen2_vl_default", "qwen2_vl", {}, 40, {}),
    # As the hub has it: one level, the kind of positions called after the sections.
    ("qwen2_vl_flat", "qwen2_vl", {}, 60, dict(style="flat")),
    ("qwen2_5_vl_default", "qwen2_5_vl", {}, 40, {}),
    ("qwen3_vl_default", "qwen3_vl", {}, 40, {}),
    ("qwen3_vl_moe_default", "qwen3_vl_moe", {}, 40, {}),
    ("hunyuan_dense_default", "hunyuan_dense", {}, 40, {}),
    ("hunyuan_dense_alpha", "hunyuan_dense",
     dict(rope=dict(rope_type="dynamic", factor=1.0, alpha=50.0)), 96, dict(style="type")),
    ("internvl_default", "internvl", {}, 40, {}),
    ("lfm2_vl_default", "lfm2_vl", {}, 40, {}),
    ("cohere_default", "cohere", {}, 40, {}),
    ("cohere2_default", "cohere2", {}, 60, {}),
]


def auto_model(config):
    has_towers = hasattr(config, "text_config")
    return transformers.AutoModelForImageTextToText if has_towers else transformers.AutoModelForCausalLM


def text_model(model):
    """What answers to text: that of Llama 4 is a model of its own within the whole."""
    text = getattr(model, "language_model", None)
    return text if hasattr(text, "lm_head") else model


def make_checkpoint(folder, kind, settings, dtype, shard_size, seed):
    """Random weights; norms and biases too, so that a mix-up of two of them shows."""
    torch.manual_seed(seed)
    sizes = {} if "text_config" in settings else SIZES
    config = getattr(transformers, kind)(**{**sizes, **settings})
    model = auto_model(config).from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("norm.weight", "norm_1.weight", "norm_2.weight", "router.scale",
                              "per_expert_scale")):
                # The model itself does.
                adds_1 = config.model_type.startswith(("gemma2", "gemma3")) or (
                    config.model_type.startswith(("qwen3_next", "qwen3_5"))
                    and not name.endswith("linear_attn.norm.weight"))
                offset = 0.0 if adds_1 else 1.0
                parameter.copy_(offset + 0.2 * torch.randn_like(parameter))
                # Scores that nothing else scales: as small as in trained models.
                if config.model_type.startswith("gemma4") and name.endswith("q_norm.weight"):
                    parameter.mul_(0.4)
            elif name.endswith(("bias", "sinks", "mamba.D")):
                parameter.copy_(0.2 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name.endswith(("e_score_correction_bias", "expert_bias")):
                buffer.copy_(0.2 * torch.randn_like(buffer))
            elif name.endswith("layer_scalar"):
                buffer.copy_(0.6 + 0.3 * torch.rand_like(buffer))
    model.to(dtype).save_pretrained(folder, max_shard_size=shard_size)
    (folder / "generation_config.json").unlink(missing_ok=True)


E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


def random_blocks(experts, rows, width):
    """Bytes [experts, rows, groups, 16], exponents, and what they stand for, [experts, width, rows]."""
    codes = torch.randint(0, 16, (experts, rows, width // 32, 32))
    exponents = torch.randint(122, 125, (experts, rows, width // 32))
    values = E2M1[codes] * torch.exp2(exponents.float() - 127)[..., None]
    packed = codes[..., 0::2] | codes[..., 1::2] << 4
    stacked = values.reshape(experts, rows, width).transpose(1, 2).contiguous()
    return packed.to(torch.uint8), exponents.to(torch.uint8), stacked


def make_block_checkpoint(folder, other):
    """Replaces the experts of a saved checkpoint by what blocks stand for, and saves both kinds."""
    torch.manual_seed(77)
    tensors = load_file(folder / "model.safetensors")
    blocks = dict(tensors)
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, width, rows = tensors[name].shape
        packed, exponents, values = random_blocks(experts, rows, width)
        tensors[name] = values.to(tensors[name].dtype)
        del blocks[name]
        blocks[name + "_blocks"], blocks[name + "_scales"] = packed, exponents
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    other.mkdir()
    save_file(blocks, other / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=[
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"])
    (other / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def case_config(checkpoint, changes):
    """The config of a case as transformers' own object and as a dict to be written."""
    changes = dict(changes)
    rope = changes.pop("rope", None)
    written = json.loads((checkpoint / "config.json").read_text())
    written.update(changes)
    if "use_sliding_window" in changes and "layer_types" not in changes:
        written.pop("layer_types", None)  # derived by whoever reads the config
    if rope is not None:
        written["rope_parameters"] = {"rope_theta": 10000.0, **rope}
    kind = getattr(transformers, type(transformers.AutoConfig.from_pretrained(checkpoint)).__name__)
    return kind.from_dict(json.loads(json.dumps(written), object_hook=read_float)), written


def read_float(item):
    """What json has no number for is written as {"__float__": "Infinity"}."""
    return float(item["__float__"]) if "__float__" in item else item


def restyle(written, style):
    """Rewrites the rotary settings as older versions of transformers did."""
    if style == "new":
        return
    if style == "global":  # as on the hub: what is wider is said once
        text = written["text_config"]
        wide = next(iter(text.pop("per_layer_config").values()))
        text["global_head_dim"] = wide["head_dim"]
        text["num_global_key_value_heads"] = wide["num_key_value_heads"]
        return
    if style == "flat":
        text = written.pop("text_config")
        text["rope_scaling"] = dict(type="mrope", mrope_section=[4, 2, 2])
        text["rope_theta"] = text.pop("rope_parameters")["rope_theta"]
        written.update({k: v for k, v in text.items() if k not in ("model_type", *written)})
        return
    rope = {k: v for k, v in written.pop("rope_parameters").items() if v is not None}
    if "sliding_attention" in rope:
        written["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        written["sliding_window_pattern"] = 3
        written.pop("layer_types")
        rope = rope["full_attention"]
    written["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type", "default")
    written["rope_scaling"] = None
    if kind != "default":
        written["rope_scaling"] = {"rope_type" if style == "old" else "type": kind, **rope}
    written["torch_dtype"] = written.pop("dtype")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden")
    prefix = sys.argv[2] if len(sys.argv) > 2 else ""
    kept = []
    if prefix:
        kept = [case for case in json.loads((root / "cases.json").read_text())
                if not case["checkpoint"].startswith(prefix)]
    for old in ("checkpoints", "logits"):
        for path in (root / old).glob(prefix + "*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (root / "logits").mkdir(parents=True, exist_ok=True)
    for place, (name, settings) in enumerate(CHECKPOINTS.items()):
        seed = SEEDS.get(name, place)
        if not name.startswith(prefix):
            continue
        make_checkpoint(root / "checkpoints" / name, *settings, seed=seed)
        if name in BLOCKS:
            make_block_checkpoint(root / "checkpoints" / name, root / "checkpoints" / BLOCKS[name])

    listed = kept
    for place, (name, checkpoint, changes, length, options) in enumerate(CASES):
        seed = SEEDS.get(name, place)
        if not checkpoint.startswith(prefix):
            continue
        folder = root / "checkpoints" / checkpoint
        config, written = case_config(folder, changes)
        model = auto_model(config).from_pretrained(
            folder, config=config, dtype=torch.float32, attn_implementation="eager").eval()
        torch.manual_seed(1000 + seed)
        tokens = torch.randint(0, VOCAB, (1, length))
        with torch.no_grad():
            output = text_model(model)(tokens, output_hidden_states=True)
        logits = output.logits[0].float()
        rows = torch.arange(length - 1, -1, -3).flip(0)  # every third, the last one among them
        known = {"rows": rows, "logits": logits[rows].contiguous()}
        if not changes:
            known["layer_1_input"] = output.hidden_states[1][0, rows].contiguous()
            known["last_hidden"] = output.hidden_states[-1][0, rows].contiguous()
        save_file(known, root / "logits" / f"{name}.safetensors")
        restyle(written, options.get("style", "new"))
        case = dict(name=name, checkpoint=checkpoint, config=written, tokens=tokens[0].tolist(),
                    **{k: v for k, v in options.items() if k == "context_length"})
        listed.append(case)
        if checkpoint in BLOCKS:
            blocks = json.loads((root / "checkpoints" / BLOCKS[checkpoint] / "config.json").read_text())
            case = dict(case, name=name.replace(checkpoint, BLOCKS[checkpoint]),
                        checkpoint=BLOCKS[checkpoint],
                        config=dict(written, quantization_config=blocks["quantization_config"]))
            shutil.copy(root / "logits" / f"{name}.safetensors",
                        root / "logits" / f"{case['name']}.safetensors")
            listed.append(case)
        print(f"{name:34} logits std {logits.std():.2f}, largest {logits.abs().max():.2f}")
    lines = ",\n".join(json.dumps(case) for case in listed)
    (root / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
