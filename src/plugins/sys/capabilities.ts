import { z } from 'zod'
import { type SpellingParts, spellingOf } from '../../core/mounts/spellings.ts'
import type { Core } from '../../core/open/core.ts'
import type { Acl } from '../../core/policies/acl.ts'
import { fail, refuse } from '../../errors.ts'
import { type Call, namespaceOf, type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import { commaListField, stringField } from '../../lib/text/fields.ts'
import { answers } from './answers/answers.ts'

const paths = z.object({
  paths: commaListField.optional().describe('Paths to check'),
  path: commaListField.optional().describe('Old name of paths'),
})

const example = { paths: ['auth/jwt/role/ci'] }

/**
 * `sys/capabilities`, `-self`, `-accessor`: docs/contract/tokens-and-policies.md#asking-for-capabilities, and
 * `sys/internal/ui/resultant-acl`: docs/contract/http.md#help-counters-tools
 */
export function capabilityResources(parts: SpellingParts & Pick<Core, 'access'>): Resource[] {
  const { access } = parts
  const judged = async (
    acl: Pick<Acl, 'capabilities'> | undefined,
    asked: Asked,
    call: Call,
  ): Promise<Reply> => {
    const list = wanted(asked)
    if (list.includes('')) throw fail('invalid', 'missing path')
    const namespace = namespaceOf(call)
    // no prototype: a path may be named like a property of Object.prototype
    const rights: Record<string, string[]> = Object.create(null)
    for await (const page of pagesOf(list))
      for (const sent of page) {
        const path = sent.startsWith('/') ? sent.slice(1) : sent
        rights[sent] = acl?.capabilities(path, spellingOf(path, namespace, parts)) ?? ['deny']
      }
    const [only] = list
    return {
      data: list.length === 1 && only !== undefined ? { ...rights, capabilities: rights[only] } : rights,
    }
  }
  return [
    resource('/internal/ui/resultant-acl', {
      help: 'What the calling token may do, for user interfaces.',
      read: {
        summary: 'Rights of the caller',
        ...answers.resultantAcl,
        handle: ({ caller }) => ({ data: caller?.acl.resultant() ?? {} }),
      },
    }),
    resource('/capabilities-self', {
      help: 'What the calling token may do on paths.',
      passesReadOnly: true,
      write: {
        summary: 'Capabilities of the caller',
        ...answers.capabilities,
        input: paths
          .extend({
            token: stringField
              .optional()
              .describe('Ignored: the calling token is checked')
              .meta({ writeOnly: true }),
          })
          .meta({ examples: [example] }),
        handle: ({ input, caller, call }) => {
          // its last use: it may do nothing any more
          if ((caller?.token.num_uses ?? 0) < 0) throw refuse('invalid', 'invalid token')
          return judged(caller?.acl, input, call)
        },
      },
    }),
    resource('/capabilities', {
      help: 'What a token may do on paths.',
      passesReadOnly: true,
      write: {
        summary: 'Capabilities of a token',
        required: ['token'],
        ...answers.capabilities,
        input: paths
          .extend({ token: stringField.default('').describe('Token to check').meta({ writeOnly: true }) })
          .meta({ examples: [example] }),
        handle: async ({ input, call }) => {
          if (input.token === '') throw refuse('invalid', 'no token found')
          wanted(input)
          return judged(await access.aclOfToken(input.token, namespaceOf(call)), input, call)
        },
      },
    }),
    resource('/capabilities-accessor', {
      help: 'What a token, named by its accessor, may do on paths.',
      passesReadOnly: true,
      write: {
        summary: 'Capabilities of a token, by its accessor',
        required: ['accessor'],
        ...answers.capabilities,
        input: paths
          .extend({ accessor: stringField.default('').describe('Accessor of the token to check') })
          .meta({ examples: [example] }),
        handle: async ({ input, call }) => {
          if (input.accessor === '') throw refuse('invalid', 'missing accessor')
          return judged(await access.aclOfAccessor(input.accessor, namespaceOf(call)), input, call)
        },
      },
    }),
  ]
}

const mostPaths = 10_000

type Asked = { paths?: string[] | undefined; path?: string[] | undefined }

function wanted({ paths, path }: Asked): string[] {
  const list = paths !== undefined && paths.length > 0 ? paths : (path ?? [])
  if (list.length === 0) throw refuse('invalid', 'paths must be supplied')
  if (list.length > mostPaths) throw refuse('invalid', `too many paths: at most ${mostPaths} at a time`)
  return list
}
