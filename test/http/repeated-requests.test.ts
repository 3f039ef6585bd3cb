import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Prepared, RequestHead } from '../../src/http/prepared-answers.ts'
import { type Answer, head, listen } from './wire.ts'

/** Prepares the response to `/known`; responses to all else are left to the test. */
async function aServer() {
  const asked: ServerResponse[] = []
  let ids = 0
  const preparedFor = (_request: RequestHead): Prepared => ({
    ...{ route: '/known', status: 200, lines: { flat: [], text: '' } },
    ...{ own: ['id', String(++ids), 'content-length', '2'], body: 'ok' },
  })
  const server = await listen({ preparedFor }, (request, response) => {
    if (request.url === '/known') {
      request.isPrepared = true
      setImmediate(() => response.writeHead(200, { id: 'parsed', 'content-length': '2' }).end('ok'))
    } else asked.push(response)
  })
  return {
    server,
    /** The response to the next request that is not for `/known`. */
    async other(): Promise<ServerResponse> {
      for (;;) {
        const response = asked.shift()
        if (response !== undefined) return response
        await nextTurn()
      }
    },
  }
}

const known = head('GET', '/known')
const idsOf = (answers: readonly Answer[]) => answers.map(({ headers }) => headers['id'])

test('a repeated request that waited for a change is answered, also if its client ends its side', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  await wire.answer()
  await wire.sendApart([head('POST', '/other', [], ''), known])
  wire.end()
  const response = await other()

  setImmediate(() => response.writeHead(200, { id: 'other', 'content-length': '0' }).end())

  expect(idsOf(await wire.untilClosed())).toEqual(['other', '1'])
})

test('each of several repeated requests that waited for a change gets its own response', async () => {
  const { server, other } = await aServer()
  await using _server = server
  const wire = await server.open()
  wire.send(known)
  await wire.answer()
  await wire.sendApart([head('POST', '/other', [], ''), known])
  wire.send(known)
  const response = await other()

  setImmediate(() => response.writeHead(200, { id: 'other', 'content-length': '0' }).end())

  expect(idsOf(await wire.answers(3))).toEqual(['other', '1', '2'])
})
