// SPDX-License-Identifier: MIT
#include "case.hpp"

#include <tq/containers/npy.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace conformance {

namespace {

using nlohmann::json;

struct StoredAs {
  std::string_view dtype;
  DType plain;  // without an encoding
};
constexpr std::array<StoredAs, 14> stored_as{{
    {"bool", DType::bool_},
    {"uint8", DType::u8},
    {"int8", DType::i8},
    {"uint16", DType::u16},
    {"int16", DType::i16},
    {"uint32", DType::u32},
    {"int32", DType::i32},
    {"uint64", DType::u64},
    {"int64", DType::i64},
    {"float16", DType::f16},
    {"float32", DType::f32},
    {"float64", DType::f64},
    {"complex64", DType::c64},
    {"complex128", DType::c128},
}};

// The type of the .npy that holds a dtype, or nothing when any will do.
std::optional<DType> storage(std::string_view dtype, std::string_view encoding) {
  if (encoding == "codes")
    return dtype == "float16" || dtype == "bfloat16" ? DType::u16 : DType::u8;
  if (encoding == "values") return dtype.starts_with('u') ? DType::u8 : DType::i8;
  for (const StoredAs& s : stored_as)
    if (s.dtype == dtype) return s.plain;
  return {};
}

std::runtime_error problem(const std::filesystem::path& file, const std::string& text) {
  return std::runtime_error(file.string() + ": " + text);
}

// A string, empty where the field is absent or null.
std::string text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? "" : found->get<std::string>();
}

TensorFile tensor_file(const json& t, const std::filesystem::path& root) {
  TensorFile out;
  out.name = text(t, "name");
  out.dtype = text(t, "dtype");
  out.encoding = text(t, "encoding");
  if (t.contains("shape") && !t.at("shape").is_null())
    out.shape = t.at("shape").get<std::vector<std::size_t>>();
  if (const std::string file = text(t, "file"); !file.empty()) out.file = root / file;
  if (const std::string packed = text(t, "packed_file"); !packed.empty())
    out.packed_file = root / packed;
  return out;
}

}  // namespace

const std::filesystem::path& TensorFile::existing() const {
  if (!std::filesystem::is_regular_file(file)) throw problem(file, "expected a file, got none");
  return file;
}

Tensor TensorFile::load() const {
  Tensor out = tq::io::read_npy(existing());
  if (shape && out.shape != *shape)
    throw problem(file, "expected shape " + tq::io::shape_text(*shape) + ", got " +
                            tq::io::shape_text(out.shape));
  const std::optional<DType> stored = storage(dtype, encoding);
  if (stored && out.dtype != *stored)
    throw problem(file, "expected " + std::string(to_string(*stored)) + ", got " +
                            std::string(to_string(out.dtype)));
  return out;
}

std::vector<float> TensorFile::floats() const {
  Tensor t = load();
  if (dtype == "bfloat16" && t.dtype == DType::u16) t.dtype = DType::bf16;
  if (dtype == "float16" && t.dtype == DType::u16) t.dtype = DType::f16;
  if (!tq::io::is_float(t.dtype)) throw problem(file, "expected floats, got " + dtype);
  return tq::io::to_float32(t);
}

std::vector<std::byte> TensorFile::bytes() const {
  std::ifstream in(existing(), std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
  if (!in) throw problem(file, "cannot be read");
  std::vector<std::byte> out(text.size());
  std::transform(text.begin(), text.end(), out.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return out;
}

std::vector<std::byte> TensorFile::packed_bytes() const {
  if (!std::filesystem::is_regular_file(packed_file))
    throw problem(packed_file, "expected a file, got none");
  return tq::io::read_npy(packed_file).bytes;
}

const TensorFile& Case::input(std::size_t i) const {
  if (i >= inputs.size())
    throw std::runtime_error("expected an input " + std::to_string(i) + ", got " +
                             std::to_string(inputs.size()) + " inputs");
  return inputs[i];
}

namespace {
const TensorFile& find(const std::vector<TensorFile>& tensors, const std::string& name) {
  for (const TensorFile& t : tensors)
    if (t.name == name) return t;
  throw std::runtime_error("expected a tensor " + name + ", got none");
}
}  // namespace

const TensorFile& Case::input(const std::string& name) const { return find(inputs, name); }
const TensorFile& Case::output(const std::string& name) const { return find(outputs, name); }

std::vector<Case> read_cases(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) throw problem(folder, "expected a folder, got none");
  std::vector<std::filesystem::path> manifests;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::filesystem::is_regular_file(entry.path() / "manifest.json"))
      manifests.push_back(entry.path() / "manifest.json");
  if (manifests.empty()) throw problem(folder, "expected folders with a manifest.json, got none");
  std::sort(manifests.begin(), manifests.end());

  std::vector<Case> cases;
  for (const std::filesystem::path& path : manifests) {
    std::ifstream in(path);
    try {
      const json manifest = json::parse(in);
      const std::string group = manifest.value("group", path.parent_path().filename().string());
      for (const json& c : manifest.at("cases")) {
        Case out;
        out.group = group;
        out.id = c.at("id").get<std::string>();
        out.op = c.at("op").get<std::string>();
        out.attributes = c.value("attributes", json::object());
        for (const json& t : c.value("inputs", json::array()))
          out.inputs.push_back(tensor_file(t, folder));
        for (const json& t : c.value("outputs", json::array()))
          out.outputs.push_back(tensor_file(t, folder));
        out.tolerance = Tolerance(c.at("tolerance"));
        cases.push_back(std::move(out));
      }
    } catch (const json::exception& e) {
      throw problem(path, std::string("not a manifest: ") + e.what());
    }
  }
  return cases;
}

}  // namespace conformance
