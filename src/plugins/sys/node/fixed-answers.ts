import { z } from 'zod'
import { type Resource, resource } from '../../../http/resource/resource.ts'

/** What `sys/config/state/sanitized` shows of the settings: nothing that is secret. */
type ShownSettings = Readonly<Record<string, unknown>>

export type FixedAnswerParts = { readonly shownSettings: ShownSettings }

const texts = z.array(z.string())
const activity = z.object({
  billing_start_timestamp: z.iso.datetime(),
  default_report_months: z.int(),
  enabled: z.string(),
  minimum_retention_months: z.int(),
  queries_available: z.boolean(),
  reporting_enabled: z.boolean(),
  retention_months: z.int(),
})
const noActivity = {
  billing_start_timestamp: '0001-01-01T00:00:00Z',
  default_report_months: 12,
  enabled: 'default-disabled',
  minimum_retention_months: 48,
  queries_available: false,
  reporting_enabled: false,
  retention_months: 48,
}
const noExperiments = { available_experiments: [], enabled_experiments: [] }

/**
 * Paths of features that this server does not have: they answer as Vault's Community edition does where the feature is
 * off, because clients ask before they do anything else. docs/contract/node.md#features-that-are-off
 */
export const fixedAnswerResources = ({ shownSettings }: FixedAnswerParts): Resource[] => [
  resource('/internal/counters/config', {
    help: 'How clients are counted: they are not.',
    read: {
      summary: 'Read how clients are counted',
      output: activity,
      example: noActivity,
      handle: () => ({ data: noActivity }),
    },
  }),
  resource('/config/state/sanitized', {
    help: 'The settings of the server, without anything secret.',
    read: {
      summary: 'Read the settings of the server',
      output: z.object({}).loose(),
      example: { api_addr: 'https://gatehouse.example.com', storage: { type: 'sqlite' } },
      handle: () => ({ data: shownSettings }),
    },
  }),
  resource('/replication/status', {
    help: 'The state of replication between clusters: there is none.',
    open: true,
    read: {
      summary: 'Read the state of replication',
      output: z.object({ mode: z.string() }),
      example: { mode: 'disabled' },
      handle: () => ({ data: { mode: 'disabled' } }),
    },
  }),
  resource('/experiments', {
    help: 'Experiments: there are none.',
    read: {
      summary: 'List the experiments',
      output: z.object({ available_experiments: texts, enabled_experiments: texts }),
      example: noExperiments,
      handle: () => ({ data: noExperiments }),
    },
  }),
]
