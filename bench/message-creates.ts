import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, usualConnections } from './bench-case.ts'

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
    const body = {
      title: `Maintenance of region ${index}`,
      message: Buffer.from(`From 20:00 to 22:00 UTC logins in region ${index} may take longer.`).toString(
        'base64',
      ),
      start_time: '2024-01-01T00:00:00Z',
      end_time: '2099-01-01T00:00:00Z',
      link: { Status: `https://status.example.com/${index}` },
    }
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
