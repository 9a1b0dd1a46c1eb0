#include <zlib.h>
#include <nlohmann/json.hpp>
