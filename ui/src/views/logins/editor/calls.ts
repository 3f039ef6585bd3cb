import * as v from 'valibot'
import { defineCall } from '../../../api/client.ts'

const texts = v.array(v.string())
const maybeWarnings = v.union([v.undefined(), v.object({ warnings: v.nullable(texts) })])

const finding = v.object({ role: v.string(), code: v.string(), field: v.string(), text: v.string() })

const report = v.object({
  data: v.object({
    history_days: v.number(),
    subjects: v.number(),
    succeed: v.number(),
    lose: v.number(),
    unknown: v.number(),
    regain: v.number(),
    losers: v.array(
      v.object({
        role: v.string(),
        subject: v.string(),
        entity_id: v.string(),
        last_login_at: v.string(),
        check: v.string(),
        reason: v.string(),
        expected: v.array(v.unknown()),
        seen: v.unknown(),
      }),
    ),
    cannot_be_judged: v.array(v.object({ check: v.string(), subjects: v.number(), text: v.string() })),
    refusals: v.object({
      tried: v.number(),
      would_succeed: v.number(),
      unknown: v.number(),
      request_ids: texts,
    }),
    admits_more: v.array(v.object({ field: v.string(), text: v.string() })),
    lint: v.object({ before: v.array(finding), after: v.array(finding) }),
  }),
})

/** Who would lose or gain access by a write. */
export type WhatIf = v.InferOutput<typeof report>['data']

export const roleWhatIf = defineCall('post', '/auth/{jwt_mount_path}/role/{name}/what-if', report)
export const configWhatIf = defineCall('post', '/auth/{jwt_mount_path}/config/what-if', report)
export const podRoleWhatIf = defineCall('post', '/auth/{kubernetes_mount_path}/role/{name}/what-if', report)
export const podConfigWhatIf = defineCall('post', '/auth/{kubernetes_mount_path}/config/what-if', report)

export const writePodConfig = defineCall('post', '/auth/{kubernetes_mount_path}/config', maybeWarnings)
export const writeLoginRole = defineCall('post', '/auth/{jwt_mount_path}/role/{name}', maybeWarnings)
export const deleteLoginRole = defineCall('delete', '/auth/{jwt_mount_path}/role/{name}', v.undefined())

const celRole = v.object({ data: v.record(v.string(), v.unknown()) })

export const listCelRoles = defineCall(
  'list',
  '/auth/{jwt_mount_path}/cel/role',
  v.object({ data: v.object({ keys: texts }) }),
)
export const readCelRole = defineCall('get', '/auth/{jwt_mount_path}/cel/role/{name}', celRole)
export const writeCelRole = defineCall('post', '/auth/{jwt_mount_path}/cel/role/{name}', celRole)
export const deleteCelRole = defineCall('delete', '/auth/{jwt_mount_path}/cel/role/{name}', v.undefined())
export const celRoleWhatIf = defineCall('post', '/auth/{jwt_mount_path}/cel/role/{name}/what-if', report)

export const tryProgram = defineCall(
  'post',
  '/auth/{jwt_mount_path}/cel/try',
  v.object({
    data: v.object({
      error: v.string(),
      variables: v.array(v.object({ name: v.string(), value: v.string(), error: v.string() })),
      result: v.nullish(
        v.object({ kind: v.picklist(['auth', 'denied', 'message', 'error', 'type']), value: v.unknown() }),
      ),
    }),
  }),
)
