import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { orFail, UsageError } from '../command.ts'
import { type Body, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { importOne, noteOf, type Scope } from './scope.ts'

/** A secret id that the operator knows. */
export type KnownSecretId = {
  readonly namespace: string
  /** `auth/<mount>/role/<role>` */
  readonly role: string
  readonly secretId: string
  /** Of the file, by which reports call it. */
  readonly line: number
}

const lineForm = /^(?<namespace>(?:[^/\s]+\/)*?)(?<role>auth\/\S+\/role\/[^/\s]+)\s+(?<secretId>\S.*)$/

/**
 * Reads a file with a line `auth/<mount>/role/<role> <secret id>` for each secret id; a namespace may precede the path.
 * Throws a `UsageError` that never shows a line.
 */
export function readSecretIds(file: string): readonly KnownSecretId[] {
  const [mode, text] = orFail(
    `--secret-ids: cannot read ${file}`,
    () => [statSync(file).mode, readFileSync(file, 'utf8')] as const,
  )
  if ((mode & 0o077) !== 0)
    throw new UsageError(`--secret-ids: other users can read or write ${file}: chmod 600`)
  return text.split('\n').flatMap((written, index) => {
    const line = index + 1
    if (written.trim() === '' || written.startsWith('#')) return []
    const { namespace, role, secretId } = lineForm.exec(written.trim())?.groups ?? {}
    if (namespace === undefined || role === undefined || secretId === undefined)
      throw new UsageError(`--secret-ids: line ${line} is not "auth/MOUNT/role/ROLE SECRET_ID"`)
    return [{ namespace, role, secretId, line }]
  })
}

const foundShape = z.object({
  secret_id_num_uses: z.number(),
  expiration_time: z.string(),
  metadata: z.record(z.string(), z.string()).nullish(),
  cidr_list: z.array(z.string()).nullish(),
  token_bound_cidrs: z.array(z.string()).nullish(),
})
type Found = z.infer<typeof foundShape>

/** Registers secret ids on the target with the uses and the lifetime that they have left on the source. */
export async function importSecretIds(
  root: Omit<Scope, 'namespace' | 'methods'>,
  known: readonly KnownSecretId[],
): Promise<void> {
  for (const { namespace, role, secretId, line } of known) {
    const [from, to] = [root.from.in(namespace), root.to.in(namespace)]
    const scope: Scope = { ...root, namespace, from, to, methods: new Set() }
    let theirs: Found | undefined
    const write = async (found: Found) =>
      noteOf((await to.write(`${role}/custom-secret-id`, requestOf(found, secretId))).warnings)
    await importOne(scope, {
      kind: 'secret_id',
      path: `${role}/custom-secret-id line ${line}`,
      exists: async () => {
        theirs = await foundOn(from, role, secretId)
        const ours = await foundOn(to, role, secretId)
        if (ours !== undefined)
          return theirs === undefined ? 'the source has ended it' : likenessOf(theirs, ours)
        if (theirs === undefined) throw new RefusedRequest(0, unknown)
        return false
      },
      write: async () => theirs && write(theirs),
      update: async () => {
        await to.write(`${role}/secret-id/destroy`, { secret_id: secretId })
        return theirs && write(theirs)
      },
    })
  }
}

const unknown = 'the source does not know it, or it has ended'

const foundOn = async (server: RemoteServer, role: string, secretId: string): Promise<Found | undefined> =>
  foundShape.safeParse(await server.find(`${role}/secret-id/lookup`, { secret_id: secretId })).data

/** Logins on the target have taken uses from what it has. */
function likenessOf(theirs: Found, ours: Found): true | string {
  const [uses, ourUses] = [theirs.secret_id_num_uses, ours.secret_id_num_uses]
  if (uses > 0 && (ourUses === 0 || uses < ourUses))
    return `the source has ${uses} uses left, the target ${ourUses === 0 ? 'no limit' : ourUses}`
  return endOf(theirs) < endOf(ours) - slackMs ? 'it ends earlier on the source' : true
}

const slackMs = 60_000
const isEndless = (time: string) => time.startsWith('0001-')
const endOf = ({ expiration_time: time }: Found) =>
  isEndless(time) ? Number.POSITIVE_INFINITY : Date.parse(time)

function requestOf(found: Found, secretId: string): Body {
  const left = Math.max(1, Math.floor((endOf(found) - Date.now()) / 1000))
  return {
    secret_id: secretId,
    num_uses: found.secret_id_num_uses,
    ttl: isEndless(found.expiration_time) ? 0 : left,
    metadata: JSON.stringify(found.metadata ?? {}),
    cidr_list: found.cidr_list ?? [],
    token_bound_cidrs: found.token_bound_cidrs ?? [],
  }
}
