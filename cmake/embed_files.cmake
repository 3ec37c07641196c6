# Writes the files of a folder into a source file, with the beginning of their hashes.
# cmake -DFOLDER=... -DOUTPUT=... -P embed_files.cmake
file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT names)
set(arrays "")
set(rows "")
set(number 0)
foreach(name ${names})
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(SHA256 ${FOLDER}/${name} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  string(APPEND arrays "const unsigned char kFile${number}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${name}\", \"${hash}\", text_of(kFile${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"server/routes/page/web_files.h\"

namespace foretoken {
namespace {

${arrays}
template <std::size_t bytes>
std::string_view text_of(const unsigned char (&file)[bytes]) {
  return {reinterpret_cast<const char*>(file), bytes};
}

}  // namespace

std::span<const WebFile> web_files() {
  static const WebFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace foretoken
")
