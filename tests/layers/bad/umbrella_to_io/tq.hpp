#include <tq/io/bad.hpp>
