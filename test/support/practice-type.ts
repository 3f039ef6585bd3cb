import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Periodic } from '../../src/core/jobs/background.ts'
import type { Lease } from '../../src/core/leases/lease.ts'
import type { LeaseBackend } from '../../src/core/leases/lease-backend.ts'
import type { Mount } from '../../src/core/mounts/mount.ts'
import { fail, refuse } from '../../src/errors.ts'
import type { PluginDefinition } from '../../src/http/resource/plugin.ts'
import { type Reply, resource } from '../../src/http/resource/resource.ts'
import { durationField, stringField } from '../../src/lib/text/fields.ts'

/** What a role grants; durations in seconds, 0 for the mount's. */
export type PracticeRole = { ttl: number; maxTtl: number; renewable: boolean }

export type PracticeOptions = {
  /** Where credentials are made; without it they are made up, and revoking them costs nothing. */
  providerUrl?: string
  /** May be changed while the server runs. */
  roles: Map<string, PracticeRole>
  /** Called for each note that the background job has deleted. */
  onExpired?(name: string): void
}

const noteFields = z.object({
  text: stringField.describe('Text of the note'),
  ttl: durationField.default(0).describe('Seconds until the note is deleted; 0: never'),
})
const shownNote = { output: z.object({ text: z.string(), ttl: z.int() }), example: { text: 'hi', ttl: 0 } }
const storedNote = z.object({ text: z.string(), ttl: z.int(), until: z.int() })

/**
 * A mount type to practise with: `creds/:role` returns a leased credential of a provider, `notes/:name` has
 * fields, and a background job deletes expired notes.
 */
export const practiceType = (options: PracticeOptions): PluginDefinition => ({
  table: 'secret',
  names: ['practice'],
  open: ({ mounts, clock }) => {
    const notesOf = (mount: Mount) => mounts.viewOf(mount).view('notes/', { numbers: 'plain' })
    const ours = () => mounts.table.all().filter(({ type, tainted }) => type === 'practice' && !tainted)
    const job = new Periodic({
      intervalMs: 25,
      run: async () => {
        for (const mount of ours()) {
          for (const { key, value } of await notesOf(mount).list('')) {
            const { until } = storedNote.parse(value)
            if (until === 0 || until > clock.now()) continue
            await notesOf(mount).write([{ key, value: undefined }])
            options.onExpired?.(key)
          }
        }
      },
      onError: () => {},
    })
    return {
      leases: practiceBackend(options),
      resources: [
        resource('/creds/:role', {
          help: 'Get a credential.',
          read: { summary: 'Get a credential', handle: ({ params }) => credential(params.role, options) },
        }),
        resource('/notes/:name', {
          help: 'A note.',
          read: {
            summary: 'Read a note',
            ...shownNote,
            handle: async ({ mount, params }) => {
              const found = storedNote.safeParse(await notesOf(mount).get(params.name))
              return found.success ? { data: { text: found.data.text, ttl: found.data.ttl } } : undefined
            },
          },
          write: {
            summary: 'Write a note',
            input: noteFields,
            handle: async ({ mount, params, input: { text, ttl } }) => {
              const until = ttl === 0 ? 0 : clock.now() + ttl * 1000
              await notesOf(mount).write([{ key: params.name, value: { text, ttl, until } }])
              return undefined
            },
          },
        }),
      ],
      gauges: [
        {
          name: 'practice_notes',
          help: 'Notes',
          combine: (one, other) => one + other,
          read: () =>
            Promise.all(
              ours().map(async (mount) => ({ mount, value: (await notesOf(mount).listKeys('')).length })),
            ),
        },
      ],
      start: () => job.start(),
      [Symbol.asyncDispose]: () => job[Symbol.asyncDispose](),
    }
  },
})

async function credential(name: string, { roles, providerUrl }: PracticeOptions): Promise<Reply> {
  const role = roles.get(name)
  if (role === undefined) throw refuse('invalid', `role "${name}" does not exist`)
  const id = providerUrl === undefined ? randomUUID() : await made(providerUrl)
  return { data: { credential: id }, secret: { ...role, internal: { credential: id, role: name } } }
}

/** Renews according to the current role; revokes credentials at the provider. */
export function practiceBackend({ providerUrl, roles }: PracticeOptions): LeaseBackend {
  return {
    renew: async ({ internal }) => {
      const role = roles.get(String(internal['role']))
      return role && { ttl: role.ttl, maxTtl: role.maxTtl }
    },
    revoke: async (lease, signal) => {
      if (providerUrl !== undefined) await ended(providerUrl, lease, signal)
    },
  }
}

async function made(providerUrl: string): Promise<string> {
  const response = await fetch(`${providerUrl}/credentials`, {
    method: 'POST',
    signal: AbortSignal.timeout(10_000),
  })
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null || !('id' in body))
    throw fail('upstream', 'the provider gave no credential')
  return String(body.id)
}

async function ended(providerUrl: string, { internal }: Lease, signal: AbortSignal): Promise<void> {
  const { status } = await fetch(`${providerUrl}/credentials/${internal['credential']}`, {
    method: 'DELETE',
    signal,
  }).catch((cause: unknown) => {
    throw fail('upstream', 'the provider cannot be reached', { cause })
  })
  if (status === 400) throw refuse('invalid', 'the provider refuses')
  if (status !== 204 && status !== 404) throw fail('upstream', `the provider answered ${status}`)
}
