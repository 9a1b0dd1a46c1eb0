#include <tq/ptq/bad.hpp>
