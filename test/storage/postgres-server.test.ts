import { describe, expect, test } from 'vitest'
import { newDatabase, postgresInstallation, query } from '../support/postgres.ts'

describe('the PostgreSQL of a test run', () => {
  test('is PostgreSQL 18, waits for the disk, and gives each test an empty database', async () => {
    const [one, other] = await Promise.all([newDatabase(), newDatabase()])
    await query(one, 'CREATE TABLE t (id int)')
    expect(await query(other, "SELECT to_regclass('t') AS t")).toEqual([{ t: null }])
    expect(await query(other, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
    expect(await query(other, 'SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
    expect(await query(other, 'SHOW server_version')).toEqual([{ server_version: '18.4' }])
  })

  test('lets a test kill a server of its own and start it again with the same data', async () => {
    await using server = await (await postgresInstallation()).start()
    await query(server.url(), 'CREATE TABLE t AS SELECT 1 AS id')
    await server.kill()
    await expect(query(server.url(), 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await query(server.url(), 'SELECT id FROM t')).toEqual([{ id: 1 }])
  })

  test('lets a test promote a standby, which has what a synchronous primary acknowledged', async () => {
    const installation = await postgresInstallation()
    await using primary = await installation.start()
    await using standby = await installation.startStandby(primary)
    await query(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'")
    await query(primary.url(), 'SELECT pg_reload_conf()')
    await query(primary.url(), 'CREATE TABLE t AS SELECT 1 AS id')
    await primary.kill()
    await query(standby.url(), 'SELECT pg_promote()')
    expect(await query(standby.url(), 'SELECT id FROM t')).toEqual([{ id: 1 }])
  })
})
