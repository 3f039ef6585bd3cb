import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { type Exchange, type Resource, resource } from '../../../http/resource/resource.ts'
import { intListField } from '../../../lib/text/fields.ts'
import type { KeyDraft } from '../store/key-draft.ts'
import { changedConfig, configInput, type KvConfig, shownConfig } from '../store/kv-config.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import { checkSecretPath } from '../store/secret-path.ts'
import { destroy, softDelete, undelete } from '../store/version-changes.ts'
import { actorOf } from './access.ts'
import { kvAnswers } from './answers.ts'
import { checkIfMatch } from './one-key.ts'

const versionsInput = z.object({
  versions: intListField
    .default([])
    .describe('Numbers of versions')
    .meta({ examples: [[1, 2]] }),
})

type At = Exchange<z.output<typeof versionsInput>, { path: string }>
type Change = (draft: KeyDraft, exchange: At, config: KvConfig) => Promise<void>

/** What happens to single versions, and the configuration of the mount. docs/contract/kv.md#deletion */
export function versionResources(kvMounts: KvMounts): Resource[] {
  const changing = (text: string, change: Change) => async (exchange: At) => {
    const { mount, params, input } = exchange
    if (input.versions.length === 0) throw refuse('invalid', text)
    checkSecretPath(params.path)
    const keys = await kvMounts.keysOf(mount)
    const config = await kvMounts.of(mount).config.get()
    await keys.change(params.path, {
      versions: input.versions,
      apply: (draft) => change(draft, exchange, config),
    })
  }

  return [
    resource('/config', {
      help: 'What holds for all secrets of the mount.',
      read: {
        summary: 'Read the configuration',
        ...kvAnswers.config,
        handle: async ({ mount }) => {
          await kvMounts.keysOf(mount)
          return { data: shownConfig(await kvMounts.of(mount).config.get()) }
        },
      },
      write: {
        summary: 'Change the configuration',
        input: configInput,
        handle: async ({ mount, input }) => {
          await kvMounts.keysOf(mount)
          await kvMounts.of(mount).changeConfig((before) => changedConfig(before, input))
        },
      },
    }),
    resource('/delete/*path', {
      help: 'Delete versions of a secret, so that they can be undeleted.',
      write: {
        summary: 'Delete versions',
        ...kvAnswers.changed,
        required: ['versions'],
        input: versionsInput,
        handle: changing('No version number provided', (draft, exchange) => {
          checkIfMatch(exchange, draft.head)
          return softDelete(draft, exchange.input.versions, actorOf(exchange, 'delete'))
        }),
      },
    }),
    resource('/undelete/*path', {
      help: 'Bring deleted versions of a secret back.',
      write: {
        summary: 'Undelete versions',
        required: ['versions'],
        input: versionsInput,
        handle: changing('No version number provided', (draft, { input }, config) =>
          undelete(draft, input.versions, config),
        ),
      },
    }),
    resource('/destroy/*path', {
      help: 'Remove the data of versions of a secret for good.',
      write: {
        summary: 'Destroy versions',
        ...kvAnswers.changed,
        required: ['versions'],
        input: versionsInput,
        handle: changing('no version number provided', (draft, exchange) => {
          checkIfMatch(exchange, draft.head)
          return destroy(draft, exchange.input.versions)
        }),
      },
    }),
  ]
}
