// SPDX-License-Identifier: MIT
#include <tq/containers/npz_writer.hpp>
#include <tq/store/activation_files.hpp>

#include "support/catch.hpp"
#include "support/directories.hpp"

#include <filesystem>
#include <string>
#include <vector>

TEST_CASE("files of activations are those with float tensors, in order") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(test::output_dir) / "activation_files";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::vector<float> values(8, 1.0f);
  const auto write = [&](const std::string& name, std::vector<std::size_t> shape) {
    tq::io::write_npz(folder / name,
                      std::vector<tq::io::Tensor>{tq::io::from_float32("w", shape, values)});
  };
  write("10.npz", {2, 4});
  write("9.npz", {2, 4});
  tq::io::Tensor codes;
  codes.name = "codes";
  codes.dtype = tq::io::DType::i8;
  codes.shape = {2};
  codes.bytes.resize(2);
  tq::io::write_npz(folder / "codes.npz", std::vector<tq::io::Tensor>{codes});
  CHECK(tq::activation_files({folder.string()}) ==
        std::vector<fs::path>{folder / "9.npz", folder / "10.npz"});
  CHECK_THROWS_AS(tq::activation_files({(folder / "codes.npz").string()}), tq::error);
  CHECK_THROWS_AS(tq::activation_files({(folder / "none.npz").string()}), tq::error);
}
