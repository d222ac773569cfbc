// SPDX-License-Identifier: Apache-2.0
import HIDService

extension ConfigurationDecoder {
    func decodeDefaults(_ map: MappingReader) {
        if let upstream = map.required("upstream"), let name = upstream.string() {
            configuration.defaults.upstream = name
            upstreamReferences.append(Reference(name: name, mark: upstream.mark))
        }
        configuration.defaults.mode = map.value("mode")?.word(Mode.self) ?? configuration.defaults.mode
        configuration.defaults.block = blockAnswer(map.value("block"), or: configuration.defaults.block)
        configuration.defaults.pathPolicy = map.value("path_policy")?.word(PathPolicy.self) ?? .strict
    }

    /// The answer to refused clients; keys that are not there keep the values of `base`.
    func blockAnswer(_ value: ConfigurationValue?, or base: BlockAnswer) -> BlockAnswer {
        value?.mapping { map in
            var answer = base
            answer.status = map.value("status")?.integer(in: 400...499) ?? answer.status
            answer.body = map.value("body")?.word(BlockAnswer.Body.self) ?? answer.body
            answer.supportCode = map.value("support_code")?.bool() ?? answer.supportCode
            return answer
        } ?? base
    }
}
