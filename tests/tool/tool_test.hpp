// SPDX-License-Identifier: MIT
#pragma once
// Runs the built tq and looks at what it prints, returns and leaves behind.

#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json.hpp>

#include "program.hpp"
#include "support/catch.hpp"
#include "support/directories.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tool_test {

namespace fs = std::filesystem;
using tq::io::DType;
using tq::io::Json;
using tq::io::Tensor;

struct Result {
  int status;
  std::string out, err;
};

// An empty folder for one test case.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::path(test::output_dir) / "tool" / name) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  [[nodiscard]] std::string operator()(const std::string& file) const {
    return (path_ / file).string();
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.insert(entry.path().filename());
    return names;
  }

 private:
  fs::path path_;
};

inline std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Arguments without quotes in them. `before` is shell code in front of the command.
inline Result run(const std::vector<std::string>& arguments, const std::string& before = "") {
  const fs::path folder = fs::path(test::output_dir) / "tool";
  fs::create_directories(folder);
  const std::string process = std::to_string(::getpid());  // other cases may run at the same time
  const fs::path out = folder / ("stdout-" + process), err = folder / ("stderr-" + process);
  std::string command = before + "'" + tool_test::program + "'";
  for (const std::string& a : arguments) command += " '" + a + "'";
  command += " >'" + out.string() + "' 2>'" + err.string() + "'";
  const int status = std::system(command.c_str());
  Result result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  fs::remove(out);
  fs::remove(err);
  return result;
}

// Standard error without lines of progress, which a slow machine may have.
inline std::string without_progress(const std::string& err) {
  std::istringstream in(err);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.find(" % after ") == std::string::npos &&
        line.find(": done after ") == std::string::npos)
      out += line + '\n';
  return out;
}

// A run that must do its job and say nothing else on standard error.
inline std::string succeed(const std::vector<std::string>& arguments) {
  const Result r = run(arguments);
  INFO(r.err);
  CHECK(r.status == 0);
  CHECK(without_progress(r.err).empty());
  return r.out;
}

// A run that must fail with that status, saying so on standard error only.
inline std::string fail(int status, const std::vector<std::string>& arguments) {
  const Result r = run(arguments);
  INFO(r.out);
  INFO(r.err);
  CHECK(r.status == status);
  CHECK(r.out.empty());
  CHECK_FALSE(r.err.empty());
  return r.err;
}

inline bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("in: " << text << "\nwanted: " << part);
  return text.find(part) != std::string::npos;
}

inline std::vector<float> noise(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return x;
}

inline Tensor tensor(const std::string& name, std::vector<std::size_t> shape,
                     DType dtype = DType::f32, unsigned seed = 1) {
  const auto n = static_cast<std::size_t>(*tq::io::element_count(shape));
  return tq::io::from_float32(name, std::move(shape), noise(n, seed), dtype);
}

// A model of zeros, which take no place on the disk.
inline void write_zeros(const std::string& path, std::size_t tensors,
                        const std::vector<std::size_t>& shape, const std::string& prefix = "w") {
  const std::uint64_t bytes = *tq::io::storage_bytes(DType::f32, shape);
  std::vector<tq::io::TensorInfo> infos;
  for (std::size_t i = 0; i < tensors; ++i)
    infos.push_back({prefix + std::to_string(i), DType::f32, shape, i * bytes, bytes});
  const std::string header = tq::io::detail::safetensors_header_text(infos, {});
  std::array<std::byte, 8> length;
  tq::io::store_le(length.data(), static_cast<std::uint64_t>(header.size()));
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(length.data()), 8);
  out << header;
  out.close();
  fs::resize_file(path, 8 + header.size() + tensors * bytes);
}

inline std::vector<Tensor> read_all(const std::string& path) {
  const auto reader = tq::io::SafetensorsReader::open(path);
  std::vector<Tensor> out;
  for (const auto& info : reader.tensors()) out.push_back(reader.read(info.name));
  return out;
}

inline std::string golden(const std::string& file) {
  return std::string(test::golden_dir) + "/" + file;
}

}  // namespace tool_test
