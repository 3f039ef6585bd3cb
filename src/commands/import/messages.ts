import { z } from 'zod'
import { ifMissing, type RemoteServer } from './remote-server.ts'
import { importOne, noteOf, type Scope } from './scope.ts'

const root = 'sys/config/ui/custom-messages'

const messageShape = z.object({
  title: z.string(),
  message: z.string(),
  type: z.string(),
  authenticated: z.boolean(),
  start_time: z.string(),
  end_time: z.string().nullish(),
  link: z.unknown().optional(),
  options: z.unknown().optional(),
  // of Gatehouse
  severity: z.string().optional(),
  priority: z.number().optional(),
  dismissible: z.boolean().optional(),
  acknowledge_required: z.boolean().optional(),
  audience: z.record(z.string(), z.array(z.string())).optional(),
  effect: z.string().optional(),
  schedule: z.record(z.string(), z.unknown()).optional(),
})
type Message = z.infer<typeof messageShape>

/** Imports custom messages. Those that are equal are the same: ids are the server's. */
export async function importMessages(scope: Scope): Promise<void> {
  const theirs = await messagesOf(scope.from)
  if (theirs.size === 0) return
  const ours = new Set([...(await messagesOf(scope.to)).values()].map(identityOf))
  for (const [id, message] of theirs)
    await importOne(scope, {
      kind: 'message',
      path: `${root}/${id}`,
      exists: async () => ours.has(identityOf(message)),
      write: async () => {
        const given = Object.entries(message).filter(([, value]) => value !== null && value !== undefined)
        const { warnings } = await scope.to.write(root, Object.fromEntries(given))
        return noteOf([...warnings, ...(namesIds(message) ? [foreignIds] : [])])
      },
    })
}

const namesIds = ({ audience }: Message): boolean =>
  Object.entries(audience ?? {}).some(([list, ids]) => list !== 'policies' && ids.length > 0)

/** Nobody of the target has them, so that nobody sees too much. */
const foreignIds = 'its audience names ids of the source: write those of the target'

/** How many there are, before and after the login. */
export const messageCount = async (server: RemoteServer): Promise<number> => (await messagesOf(server)).size

/** By id. None on a server without messages. */
async function messagesOf(server: RemoteServer): Promise<ReadonlyMap<string, Message>> {
  const messages = new Map<string, Message>()
  for (const authenticated of [true, false])
    for (const id of await idsOf(server, authenticated)) {
      const { data } = messageShape.safeParse(await server.read(`${root}/${id}`))
      if (data !== undefined) messages.set(id, data)
    }
  return messages
}

const idsOf = (server: RemoteServer, authenticated: boolean): Promise<readonly string[]> =>
  server.list(root, { authenticated: String(authenticated) }).catch(ifMissing<readonly string[]>([]))

const identityOf = ({ title, message, type, authenticated, start_time: start, end_time: end }: Message) =>
  JSON.stringify([title, message, type, authenticated, Date.parse(start), end ? Date.parse(end) : null])
