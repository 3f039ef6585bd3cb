import { type Resource, resource } from '../../http/resource/resource.ts'
import { answers } from './answers/answers.ts'

/** `sys/internal/ui/resultant-acl`. docs/contract/http.md#help-counters-tools */
export function uiResources(): Resource[] {
  return [
    resource('/internal/ui/resultant-acl', {
      help: 'What the calling token may do, for user interfaces.',
      read: {
        summary: 'Rights of the caller',
        ...answers.resultantAcl,
        handle: ({ caller }) => ({ data: caller?.acl.resultant() ?? {} }),
      },
    }),
  ]
}
