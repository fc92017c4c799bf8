#include "simulate/traffic_sample.h"

#include "simulate/sampled_call_codec.h"

namespace sluice::simulate {

void TrafficSample::Read(std::size_t index, SampledCall& call) const {
  const CallPosition& position = calls_[index];
  DecodeCall(rings_[position.ring].data() + position.word, call);
}

}  // namespace sluice::simulate
