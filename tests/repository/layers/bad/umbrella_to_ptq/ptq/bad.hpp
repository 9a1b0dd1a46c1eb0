#include <Eigen/Core>
