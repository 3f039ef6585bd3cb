import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, usualConnections } from './bench-case.ts'
import { aMessage } from './message.ts'

const messages = 100
const polled = 'sys/internal/ui/unauthenticated-messages'

/** Front ends polling before login, with as many messages as a namespace can have: 200 and 304 responses. */
export async function messageCases({ url, rootToken: token }: BenchSetup): Promise<BenchCase[]> {
  for (let index = 0; index < messages; index++) {
    const body = { ...aMessage(index), authenticated: false }
    await sendSuccessfully(url, { method: 'POST', path: 'sys/config/ui/custom-messages', token, body })
  }
  const answer = await fetch(`${url}/v1/${polled}`)
  const { byteLength } = await answer.arrayBuffer()
  const unchanged = [{ ifNoneMatch: answer.headers.get('etag') ?? '' }]
  const requests = { method: 'GET', path: `/v1/${polled}` }
  const common = { connections: usualConnections }
  return [
    {
      ...common,
      name: `${messages} messages before login`,
      ours: { ...requests, variants: [{}] },
      against: {
        contender: 'bare',
        requests: { method: 'GET', path: `/text/${byteLength}`, variants: [{}] },
      },
      aim: 0.6,
    },
    {
      ...common,
      name: 'the same, unchanged',
      ours: { ...requests, variants: unchanged },
      against: { contender: 'bare', requests: { method: 'GET', path: '/unchanged', variants: unchanged } },
      aim: 0.8,
    },
  ]
}
