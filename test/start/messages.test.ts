import { expect, test } from 'vitest'
import type { Client, Json } from '../support/client.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const path = 'sys/config/ui/custom-messages'
const namespaces = ['', 'a/', 'b/', 'b/c/']
const answersBeforeKill = 160

/** The acknowledged state of one message. A change without a response may or may not have taken effect. */
type Known = {
  readonly namespace: string
  readonly id: string
  readonly possibleTitles: string[]
  presence: 'there' | 'unsure' | 'gone'
  acknowledged: boolean
}

/**
 * Writes, changes, acknowledges and deletes messages until the server stops responding. Calls `answered` for
 * each response.
 */
async function writeUntilCut(
  worker: number,
  { root, reader, answered }: { root: Client; reader: Client; answered(): void },
): Promise<Known[]> {
  const all: Known[] = []
  const sent = async (client: Client, method: string, where: string, body?: object): Promise<Json> => {
    const headers: Record<string, string> =
      method === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {}
    const { status, body: answer, text } = await client.call(method, where, body, { headers })
    if (status >= 300) throw new Error(`${method} ${where}: ${text}`)
    answered()
    return answer
  }
  const live = async (turn: number): Promise<void> => {
    const namespace = namespaces[(worker + turn) % namespaces.length] ?? ''
    const title = `${worker}-${turn}`
    const made = await sent(root, 'POST', namespace + path, { title, message: '', start_time: 0 })
    const message: Known = {
      namespace,
      id: String(made.data?.id),
      possibleTitles: [title],
      presence: 'there',
      acknowledged: false,
    }
    all.push(message)
    for (const method of ['POST', 'PATCH']) {
      message.possibleTitles.push(`${title} ${method}`)
      await sent(root, method, `${namespace}${path}/${message.id}`, {
        title: `${title} ${method}`,
        message: '',
        start_time: 0,
      })
      message.possibleTitles.splice(0, message.possibleTitles.length - 1)
    }
    await sent(reader, 'POST', `${namespace}sys/internal/ui/authenticated-messages/${message.id}/ack`)
    message.acknowledged = true
    if (turn % 2 === 0) return
    message.presence = 'unsure'
    await sent(root, 'DELETE', `${namespace}${path}/${message.id}`)
    message.presence = 'gone'
  }
  try {
    for (let turn = 0; ; turn++) await live(turn)
  } catch (error) {
    if (error instanceof Error && !('code' in error)) throw error
    return all
  }
}

test('after kill -9 during writes of messages, acknowledged ones exist and deleted ones do not', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  const known: Known[] = []
  let rootToken = ''
  let readerToken = ''
  let readerEntity = ''
  for (let round = 0; round < 3; round++) {
    await using server = await startProcess({ folder: folder.path })
    rootToken ||= server.rootToken
    const root = server.as(rootToken)
    if (round === 0) {
      for (const [above, name] of [
        ['', 'a'],
        ['', 'b'],
        ['b/', 'c'],
      ])
        await root.write(`${above}sys/namespaces/${name}`)
      await root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
      const { body } = await root.write('auth/token/create/people', { entity_alias: 'ann' })
      readerToken = String(body.auth?.client_token)
      readerEntity = String(body.auth?.entity_id)
    }
    let answers = 0
    const answered = () => {
      answers++
      if (answers === answersBeforeKill) server.signal('SIGKILL')
    }
    const workers = Array.from({ length: 8 }, (_, worker) =>
      writeUntilCut(worker, { root, reader: server.as(readerToken), answered }),
    )
    known.push(...(await Promise.all(workers)).flat())
    await server.stop('SIGKILL')

    await using again = await startInFolder({ folder: folder.path })
    const operator = again.as(rootToken)
    for (const { namespace, id, possibleTitles, presence, acknowledged } of known) {
      const { status, body } = await operator.read(`${namespace}${path}/${id}`)
      if (presence !== 'unsure') expect(status).toBe(presence === 'there' ? 200 : 404)
      if (status !== 200) continue
      expect(possibleTitles).toContain(body.data?.title)
      if (acknowledged)
        expect((await operator.list(`${namespace}${path}/${id}/acks`)).body.data?.keys).toEqual([
          readerEntity,
        ])
    }
    expect(known.some(({ presence }) => presence === 'gone')).toBe(true)
    await again.stop()
  }
})
