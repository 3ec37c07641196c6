#include "checkpoint/tensor_list.h"

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_model.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/model_files.h"

namespace foretoken {
namespace {

TensorList gguf_tensors(const std::string& path) {
  const GgufModel model(path);
  TensorList list{.format = "gguf", .tensors = {}};
  for (const auto& [name, blocks] : model.tensors())
    list.tensors.push_back({.name = name,
                            .type = std::string(blocks.type->name),
                            .elements = blocks.shape.elements(),
                            .bytes = blocks.bytes(),
                            .is_read = blocks.type->is_read()});
  return list;
}

TensorList tensors_of(const std::string& folder, const CheckpointFormat& format,
                      const CheckpointFiles& files) {
  TensorList list{.format = format.name, .tensors = {}};
  for (const std::string& name : files.names) {
    const MappedFile file(folder + "/" + name);
    for (const StoredTensor& tensor : format.parse(file.bytes(), file.path()))
      list.tensors.push_back({.name = tensor.name,
                              .type = tensor.foreign_type.empty()
                                          ? std::string(dtype_name(tensor.dtype))
                                          : tensor.foreign_type,
                              .elements = tensor.shape.elements(),
                              .bytes = tensor.bytes,
                              .is_read = tensor.foreign_type.empty()});
    file.check();
  }
  return list;
}

}  // namespace

TensorList list_tensors(const std::string& path) {
  if (is_model_file(path)) return gguf_tensors(path);
  for (const auto find : {find_checkpoint_files, find_other_files})
    for (const CheckpointFormat* format : {&safetensors_format(), &torch_format()})
      if (const auto files = find(path, *format)) return tensors_of(path, *format, *files);
  throw Error({"no weights in the model folder", path, "safetensors, PyTorch's or GGUF", "none"});
}

std::vector<std::string> source_names(const std::string& path) {
  std::vector<std::string> names;
  for (const ListedTensor& tensor : list_tensors(path).tensors) names.push_back(tensor.name);
  if (!is_model_file(path)) return names;
  const GgufModel model(path);
  const GgufArchitecture& architecture = gguf_architecture(model.metadata());
  for (std::string& name : names) name = decoder_name(architecture, name).value_or(name);
  return names;
}

}  // namespace foretoken
