import Fastify from 'fastify'

/** What a Fastify JSON route costs with nothing behind it: `node bench/bare.ts --port PORT`. */
const app = Fastify()
app.get('/', () => ({ hello: 'world' }))
await app.listen({ port: Number(process.argv[3]), host: '127.0.0.1' })
