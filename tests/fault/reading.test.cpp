// SPDX-License-Identifier: MIT
// Reading that comes in pieces, fails, or meets a file that is another one than when it was opened.
#include "fault_test.hpp"

#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/tensor_file.hpp>

#include <cerrno>

#include "support/catch.hpp"
#include "system_calls.hpp"

using namespace io_test;
using tq::errc;
using tq::io::DType, tq::io::NpzReader, tq::io::Tensor;

namespace {

struct Sample {
  fs::path path;
  std::string tensor;
};

// Files of every kind, the deflated one among them, with the name of a tensor in each.
std::vector<Sample> samples(const TempDir& dir) {
  const Tensor t = fault::tensor(70000, 3);
  for (const fault::Format& format : fault::formats)
    format.write(dir / format.file, t, &fault::nothing);
  spill(dir / "model.safetensors.index.json", R"({"weight_map": {"w": "w.safetensors"}})");
  return {{dir / "w.npy", "w"},
          {dir / "w.npz", "w"},
          {dir / "w.safetensors", "w"},
          {dir / "model.safetensors.index.json", "w"},
          {golden / "npy/good/deflated.npz", ""},
          {golden / "npy/good/fortran_be_i4.npy", "fortran_be_i4"}};
}

std::vector<Tensor> all_of(const fs::path& path) {
  tq::io::TensorFile file = tq::io::open_tensor_file(path);
  std::vector<Tensor> out;
  for (const tq::io::TensorInfo& info : file.tensors()) out.push_back(file.read(info.name));
  return out;
}

// Replaces bytes of a file in place.
void overwrite(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// A .npy file with trailing bytes, so that all are of one size.
std::string npy_of(const std::string& descr, bool fortran, const std::string& shape) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(header.size()));
  out.push_back('\0');
  return out + header + std::string(4096, '\1');
}

// An archive of one stored member, whose CRC nobody reads before the data.
std::string npz_of(const std::string& npy) {
  const auto u16 = [](std::size_t v) {
    return std::string{static_cast<char>(v), static_cast<char>(v >> 8)};
  };
  const auto u32 = [&](std::size_t v) { return u16(v & 0xffff) + u16(v >> 16); };
  const std::string name = "w.npy";
  const std::string common = u16(20) + u16(0) + u16(0) + u32(0) + u32(0) + u32(npy.size()) +
                             u32(npy.size()) + u16(name.size()) + u16(0);
  const std::string local = "PK\3\4" + common + name + npy;
  const std::string entry =
      "PK\1\2" + u16(20) + common + u16(0) + u16(0) + u16(0) + u32(0) + u32(0) + name;
  return local + entry + "PK\5\6" + u32(0) + u16(1) + u16(1) + u32(entry.size()) +
         u32(local.size()) + u16(0);
}

}  // namespace

TEST_CASE("reads that give a few bytes, or are interrupted, are gone on with", "[fault]") {
  const TempDir dir;
  for (const Sample& sample : samples(dir)) {
    INFO(sample.path.filename().string());
    const std::vector<Tensor> whole = all_of(sample.path);
    for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      fault::Behaviour slow;
      slow.most_read = most;
      slow.interrupts = true;
      const fault::With fault(slow);
      const std::vector<Tensor> pieces = all_of(sample.path);
      CHECK(fault::reads > 2);  // else this program reads by another call
      REQUIRE(pieces.size() == whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CHECK(pieces[i].shape == whole[i].shape);
        CHECK(pieces[i].bytes == whole[i].bytes);
      }
    }
  }
}

TEST_CASE("a read that fails is a failure of io that names the file and the reason", "[fault]") {
  const TempDir dir;
  for (const Sample& sample : samples(dir)) {
    fault::Behaviour counted;
    std::size_t calls = 0;
    {
      const fault::With fault(counted);
      static_cast<void>(all_of(sample.path));
      calls = fault::reads;
    }
    for (std::size_t before = 0; before < calls; ++before) {
      fault::Behaviour broken;
      broken.read_error = EIO;
      broken.reads_before = before;
      const fault::With fault(broken);
      const Outcome o = outcome_of([&] { static_cast<void>(all_of(sample.path)); });
      INFO(sample.path.filename().string()
           << " after " << before << " of " << calls << ": " << o.text);
      CHECK(o.code == errc::io_failure);
      CHECK(o.text.find("read failed: Input/output error") != std::string::npos);
    }
  }
}

TEST_CASE("a file that is cut after it was opened is a failure of io", "[fault]") {
  const TempDir dir;
  for (const Sample& sample : samples(dir)) {
    if (sample.path.string().starts_with(golden.string())) continue;
    INFO(sample.path.filename().string());
    tq::io::TensorFile file = tq::io::open_tensor_file(sample.path);
    const fs::path data = sample.path.extension() == ".json" ? dir / "w.safetensors" : sample.path;
    const std::string whole = slurp(data);
    fs::resize_file(data, whole.size() / 3);
    const Outcome o = outcome_of([&] { static_cast<void>(file.read(sample.tensor)); });
    CHECK((o.code == errc::io_failure || o.code == errc::malformed));
    std::vector<std::byte> range(10);
    const Outcome r = outcome_of([&] { file.read_range(sample.tensor, 60000, range); });
    CHECK((r.code == errc::io_failure || r.code == errc::malformed));
    overwrite(data, whole);
    CHECK(file.read(sample.tensor).bytes == fault::tensor(70000, 3).bytes);
  }
}

TEST_CASE("a member that is another tensor than when the archive was opened is refused",
          "[fault]") {
  const TempDir dir;
  const std::string small = npz_of(npy_of("|u1", true, "(2, 2)"));
  for (const std::string& now :
       {npz_of(npy_of("|u1", true, "(64, 64)")), npz_of(npy_of("<f8", true, "(2, 2)")),
        npz_of(npy_of("|u1", false, "(4,)")), npz_of(npy_of("|u1", true, "(1, 2)"))}) {
    REQUIRE(now.size() == small.size());
    overwrite(dir / "w.npz", small);
    const NpzReader reader = NpzReader::open(dir / "w.npz");
    overwrite(dir / "w.npz", now);
    std::vector<std::byte> out(4);
    const Outcome o = outcome_of([&] { reader.read_into("w", out); });
    INFO(o.text);
    CHECK(o.code == errc::malformed);
    CHECK(o.text.find("expected the tensor that was there when it was opened") !=
          std::string::npos);
    CHECK(outcome_of([&] { static_cast<void>(reader.read("w")); }).code == errc::malformed);
  }
}

TEST_CASE("a shard with another tensor than when the index was opened is refused", "[fault]") {
  const TempDir dir;
  const auto write = [&](const char* name, std::size_t n) {
    Tensor t = fault::tensor(n, 1);
    t.name = name;
    const std::vector<Tensor> tensors{t};
    tq::io::write_safetensors(dir / "w.safetensors", tensors);
  };
  write("w", 8);
  spill(dir / "model.safetensors.index.json", R"({"weight_map": {"w": "w.safetensors"}})");
  for (const auto& [name, size] : {std::pair("w", 9), std::pair("v", 8)}) {
    write("w", 8);
    auto reader = tq::io::SafetensorsIndexReader::open(dir / "model.safetensors.index.json");
    write(name, static_cast<std::size_t>(size));
    const Outcome o = outcome_of([&] { static_cast<void>(reader.read("w")); });
    INFO(o.text);
    CHECK(o.code == errc::malformed);
    CHECK(o.text.find("U8 [8]") != std::string::npos);
    std::vector<std::byte> out(8);
    CHECK(outcome_of([&] { reader.read_range("w", 0, out); }).code == errc::malformed);
  }
}
