// Where a matrix lies (vulkan/calls.h), in tables of which rows choose.
struct MatrixAt {
  Words codes;  // or floats
  Words scales;
  Words minima;
  Words multiples;
  Words zeros;
  Floats bias;
  Ints order;  // of columns; null: they lie as they are
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Matrices { MatrixAt v[]; };
