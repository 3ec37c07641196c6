// Products of bf16 in tile order (numerics.md): of each 32 k a chain over the even ones and a chain
// over the odd ones, both from 0, added to the accumulator by ascending k. Who includes this has
// ROWS, kCols, a `call` (matrices.glsl), and the weights:
//
//   load_quad(group, start, many, lane, i)   of block `lane` of `many` from `start` on, quad i of
//                                            its columns; quads of a block by rising i
//   low_of(i, j, c), high_of(i, j, c)        elements 2 j and 2 j + 1 of quad i of a column: bf16
//
//   workgroup   ROWS rows (8 at most) x kGroups groups of kCols columns; the 32 lanes of a group
//               take a block of 32 k each
//   registers   the weights of kCols columns of a block, the chains of ROWS rows
//   shared      the sums of kLanes blocks; then each (row, column) has one lane that adds them up
//
// Weights of the next blocks are on their way while the sums of these are added: all of them, or of
// many rows the first quad, and then each while the one before it is used. With LOADS_LATE each
// quad is loaded when it is used, in a loop that stays one: of weights that take many instructions.
// The order depends on nothing else, so a row has the same bits beside any others.
layout(local_size_x = 64) in;
const uint kGroups = 2, kLanes = 32, kMostRows = 8, kQuads = 4;
#ifdef LOADS_LATE
const uint kAhead = 0u;
#define EACH_QUAD [[dont_unroll]]
#else
const uint kAhead = ROWS <= 4u ? kQuads : 1u;  // quads that are loaded before the sums are added
#define EACH_QUAD [[unroll]]
#endif
const uint kColumns = kGroups * kCols, kSums = kColumns * ROWS;

DEFINE_ROWS
void load_quad(uint group, uint start, uint many, uint lane, uint i);
float low_of(uint i, uint j, uint c);
float high_of(uint i, uint j, uint c);

// [block][row, column]; of each block turned by its number, so that neither lanes that write nor
// lanes that read meet in a bank.
shared float sums[kLanes * kSums];

uint place_of(uint lane, uint sum) { return lane * kSums + (sum + lane) % kSums; }

void main() {
  const uint t = gl_LocalInvocationID.x, lane = t % kLanes, my_group = t / kLanes;
  take_rows();
  if (!has_row(0u)) return;
  uint inputs[kMostRows];
  [[unroll]] for (uint r = 0; r < ROWS; ++r) inputs[r] = input_of(r) * call.blocks;
  const uint first_group = (call.first + gl_WorkGroupID.y) * kGroups;
  const uint group = first_group + my_group;
  // Blocks that the lane has to do with: none behind the last group.
  const uint blocks = group * kCols < call.columns ? call.blocks : 0u;
  if (lane < blocks)
    [[unroll]] for (uint i = 0; i < kAhead; ++i) load_quad(group, 0u, min(kLanes, blocks), lane, i);
  float total = 0.0;
  for (uint start = 0; start < call.blocks; start += kLanes) {
    const uint many = min(kLanes, call.blocks - start);
    if (start + lane < blocks) {
      float even[kMostRows][kCols], odd[kMostRows][kCols];
      [[unroll]] for (uint r = 0; r < ROWS; ++r)
        [[unroll]] for (uint c = 0; c < kCols; ++c) even[r][c] = odd[r][c] = 0.0;
      EACH_QUAD for (uint i = 0; i < kQuads; ++i) {
        uvec4 x[kMostRows];
        if (kAhead == 0u)
          load_quad(group, start, many, lane, i);
        else if (i + 1u >= kAhead && i + 1u < kQuads)
          load_quad(group, start, many, lane, i + 1u);
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
          x[r] = call.x.v[(inputs[r] + start) * kQuads + i * many + lane];
        [[unroll]] for (uint j = 0; j < 4; ++j) {
          float low[kCols], high[kCols];
          [[unroll]] for (uint c = 0; c < kCols; ++c) {
            low[c] = low_of(i, j, c);
            high[c] = high_of(i, j, c);
          }
          [[unroll]] for (uint r = 0; r < ROWS; ++r) {
            const float x_low = low_half(x[r][j]), x_high = high_half(x[r][j]);
            [[unroll]] for (uint c = 0; c < kCols; ++c) {
              even[r][c] = fma_exact(low[c], x_low, even[r][c]);
              odd[r][c] = fma_exact(high[c], x_high, odd[r][c]);
            }
          }
        }
      }
      [[unroll]] for (uint r = 0; r < ROWS; ++r)
        [[unroll]] for (uint c = 0; c < kCols; ++c)
          sums[place_of(lane, r * kColumns + my_group * kCols + c)] = add(even[r][c], odd[r][c]);
    }
    const uint next = start + kLanes;
    if (next + lane < blocks)
      [[unroll]] for (uint i = 0; i < kAhead; ++i)
        load_quad(group, next, min(kLanes, blocks - next), lane, i);
    barrier();
    if (t < kSums) {
      for (uint b = 0; b < many; b += 8u) {
        float some[8];
        [[unroll]] for (uint u = 0; u < 8; ++u) some[u] = sums[place_of(b + u, t)];
        [[unroll]] for (uint u = 0; u < 8; ++u)
          if (b + u < many) total = add(total, some[u]);
      }
    }
    barrier();
  }
  const uint r = t / kColumns, column = first_group * kCols + t % kColumns;
  if (t >= kSums || !has_row(r) || column >= call.columns) return;
  if (call.has_bias != 0u) total = add(total, WEIGHTS.bias.v[column]);
  call.y.v[row_of(r) * Y_STRIDE + column] = flushed(total);
}
