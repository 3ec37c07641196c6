// The rows of a workgroup of a product, and whose weights they are multiplied by: those of the call,
// or, in the form with CHOSEN, those of a matrix among some of one shape (experts, heads), which
// rows have chosen. No weights are read but those of matrices that were chosen.
//
//   row n of the result = row n / each of the input x the matrix of n
//
//   turns > 0   matrix n % turns; workgroups take the matrices in turns, and ROWS rows of one
//   is_sorted   choices: of each workgroup a matrix, the first of its places in `order`, their
//               number, ROWS at most (group_rows.comp)
//   else        matrix choices[n]; a workgroup has one row
//
// A call has the same names in both forms: WEIGHTS_OF_CALL, x, y, .., OF_CHOICE at its end. After
// take_rows(), has_row(r) says whether there is a row r < ROWS, and row_of(r) which one of the
// result it is, input_of(r) which one of the input; where there is none, another one's.
#define FLOATS_OF_CALL Words codes; Floats bias;
#define CODES_OF_CALL \
  Words codes; Words scales; Words minima; Words multiples; Words zeros; Floats bias;
#include "matrix_at.glsl"

#ifdef CHOSEN
#define WEIGHTS_OF_CALL(own) Matrices matrices; Words choices; Words order;
// Strides: elements from row to row of the input and of the result.
#define OF_CHOICE uint each, turns, is_sorted, x_stride, y_stride;
#define WEIGHTS call.matrices.v[matrix]
#define X_STRIDE(width) call.x_stride
#define Y_STRIDE call.y_stride

uint matrix;                   // of the workgroup
uint first_place, row_places;  // its rows among those of the matrix, and how many there are

#define DEFINE_ROWS \
  void take_rows() { \
    const uint group = gl_WorkGroupID.x; \
    first_place = group; \
    row_places = 1u; \
    if (call.turns > 0u) { \
      matrix = group % call.turns; \
      first_place = group / call.turns * ROWS; \
      row_places = min(ROWS, call.rows / call.turns - first_place); \
    } else if (call.is_sorted != 0u) { \
      matrix = call.choices.v[3u * group]; \
      first_place = call.choices.v[3u * group + 1u]; \
      row_places = call.choices.v[3u * group + 2u]; \
    } else { \
      matrix = call.choices.v[group]; \
    } \
  } \
  bool has_row(uint r) { return r < row_places; } \
  uint row_of(uint r) { \
    const uint place = first_place + min(r, max(row_places, 1u) - 1u); \
    if (call.turns > 0u) return place * call.turns + matrix; \
    if (call.is_sorted != 0u) return call.order.v[place]; \
    return place; \
  } \
  uint input_of(uint r) { return row_of(r) / call.each; }
#else
#define WEIGHTS_OF_CALL(own) own
#define OF_CHOICE
#define WEIGHTS call
#define X_STRIDE(width) (width)
#define Y_STRIDE call.columns
#define DEFINE_ROWS \
  void take_rows() {} \
  bool has_row(uint r) { return gl_WorkGroupID.x * ROWS + r < call.rows; } \
  uint row_of(uint r) { return min(gl_WorkGroupID.x * ROWS + r, call.rows - 1u); } \
  uint input_of(uint r) { return row_of(r); }
#endif
