// Whose weights the rows of a product are multiplied by: those of the call, or, in the form with
// CHOSEN, those of the matrix that a row has chosen among some of one shape (experts, heads):
//
//   row r of the result = row r / each of the input x matrix chosen[r]; r % turns where turns > 0
//
// Then a workgroup has one row, so that no weights are read but those of matrices that were chosen.
// A call has the same names in both forms: WEIGHTS_OF_CALL, x, y, .., OF_CHOICE at its end.
#define FLOATS_OF_CALL Words codes; Floats bias;
#define CODES_OF_CALL \
  Words codes; Words scales; Words minima; Words multiples; Words zeros; Floats bias;
#include "matrix_at.glsl"

#ifdef CHOSEN
#define WEIGHTS_OF_CALL(own) Matrices matrices; Ints chosen;
// Elements from row to row of the input and of the result.
#define OF_CHOICE uint each, turns, x_stride, y_stride;
#define WEIGHTS call.matrices.v[matrix]

uint matrix;  // of the workgroup

#define CHOOSE_MATRIX(row) \
  matrix = call.turns > 0u ? (row) % call.turns : uint(call.chosen.v[row]);
#define INPUT_OF(row) ((row) / call.each)
#define X_STRIDE(width) call.x_stride
#define Y_STRIDE call.y_stride
#else
#define WEIGHTS_OF_CALL(own) own
#define OF_CHOICE
#define WEIGHTS call
#define CHOOSE_MATRIX(row)
#define INPUT_OF(row) (row)
#define X_STRIDE(width) (width)
#define Y_STRIDE call.columns
#endif
