import Fastify from 'fastify'

/**
 * Fastify JSON routes without any work, as a baseline: one small response, one of a requested size, and a
 * 304. `node bench/bare.ts` prints its port.
 */
const app = Fastify()
app.get('/', () => ({ hello: 'world' }))
const texts = new Map<string, string>()
app.get<{ Params: { length: string } }>('/text/:length', ({ params: { length } }, reply) => {
  const text = texts.get(length) ?? JSON.stringify('x'.repeat(Number(length) - 2))
  texts.set(length, text)
  return reply.type('application/json').send(text)
})
app.get('/unchanged', ({ headers }, reply) => {
  const tag = headers['if-none-match']
  return tag === undefined ? reply.code(400).send() : reply.code(304).header('etag', tag).send()
})
const url = await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${new URL(url).port}\n`)
