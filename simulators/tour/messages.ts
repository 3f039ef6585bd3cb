import { exchange, textIn } from '../operator.ts'
import type { Scene } from './scene.ts'

const planned = 'sys/config/ui/custom-messages'
const shown = 'sys/internal/ui/unauthenticated-messages'
const dayMs = 86_400_000

/** A banner is planned, rescheduled, and read by a front end that polls no more often than it must. */
export async function bannerForFrontEnds({ chapter, aside, step, root, stranger }: Scene): Promise<void> {
  const inTwoDays = new Date(Date.now() + 2 * dayMs)
  const text = 'No logins for two hours.'
  const banner = {
    title: 'Maintenance',
    message: Buffer.from(text).toString('base64'),
    authenticated: false,
    severity: 'warning',
    start_time: inTwoDays.toISOString(),
    end_time: new Date(inTwoDays.getTime() + 7_200_000).toISOString(),
  }

  chapter('The operator plans a banner for the login page')
  const made = await step(root, 'POST', planned, { expect: 200, body: banner, show: ({ data }) => data })

  chapter(
    'A front end asks what to show: nothing yet. With the tag of the response it asks again and gets 304; a header says when the next message starts',
  )
  const first = await step(stranger, 'GET', shown, { expect: 200, show: ({ data }) => data })
  const tag = first.headers.get('etag') ?? ''
  await step(stranger, 'GET', shown, { expect: 304, headers: { 'If-None-Match': tag } })

  chapter(
    'The maintenance is moved to today. The front end waits for a change, the operator changes the start, and the front end gets the banner at once',
  )
  const waiting = exchange(`${stranger.url}/v1/${shown}?wait=20s`, { headers: { 'If-None-Match': tag } })
  aside(`The front end: GET /v1/${shown}?wait=20s   If-None-Match: ${tag}`)
  const earlier = { start_time: new Date(Date.now() - 1000).toISOString() }
  const patch = {
    expect: 200,
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: earlier,
    show: ({ data }: { data?: unknown }) => data,
  }
  await step(root, 'PATCH', `${planned}/${textIn(made, 'data', 'id')}`, patch)
  const { status, body } = await waiting
  const message = textsIn(body).find((found) => found === text)
  if (message === undefined) throw new Error(`the waiting request got ${status}: ${JSON.stringify(body)}`)
  aside(`The front end shows: ${message}`)
}

/** The message texts that a front end would show. */
function textsIn(body: Record<string, unknown> | undefined): string[] {
  // the API guarantees this shape
  const { key_info = {} } = (body?.['data'] ?? {}) as { key_info?: Record<string, { message: string }> }
  return Object.values(key_info).map(({ message }) => Buffer.from(message, 'base64').toString())
}
