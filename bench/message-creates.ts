import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, usualConnections } from './bench-case.ts'
import { aMessage } from './message.ts'

/** The limit of messages per namespace. */
const messagesEach = 100

/**
 * Durable creates of messages, filling one namespace after another, against the floor program, which writes
 * one sealed row and sends the same response.
 */
export async function messageCreateCases({
  url,
  rootToken: token,
  options,
}: BenchSetup): Promise<BenchCase[]> {
  const count = (options.rounds + 1) * options.freshSubjects
  const namespaces = Array.from(
    { length: Math.ceil(count / messagesEach) },
    (_, index) => `messages-${index}`,
  )
  for (const name of namespaces)
    await sendSuccessfully(url, { method: 'POST', path: `sys/namespaces/${name}`, token })
  const variants = Array.from({ length: count }, (_, index) => {
    const body = aMessage(index)
    return {
      token,
      namespace: namespaces[Math.floor(index / messagesEach)] ?? '',
      body: JSON.stringify(body),
    }
  })
  const requests = { method: 'POST', path: '/v1/sys/config/ui/custom-messages', variants, once: true }
  return [
    {
      name: 'create a message',
      connections: usualConnections,
      ours: requests,
      against: { contender: 'floor', requests },
      aim: 0.6,
    },
  ]
}
