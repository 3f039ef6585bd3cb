import { Waits } from '../../core/servers/waits.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { frontEndResources } from './front-end-routes.ts'
import { messageResources } from './message-routes.ts'
import { MessageStore } from './message-store.ts'
import { ShownMessages } from './shown-messages.ts'

export type MessageOptions = {
  /** `community` has no messages. docs/contract/messages.md#community-edition */
  readonly edition: 'enterprise' | 'community'
  /** Maximum number of requests per client address that wait for messages to change. */
  readonly maxWaiters: number
}

/** Messages of operators to users, below `sys/`. docs/contract/messages.md */
export const customMessages = ({ edition, maxWaiters }: MessageOptions): PluginDefinition => ({
  table: 'secret',
  names: ['system'],
  open: (core) => {
    const { namespaces, clock, access, identities, confirmCopies } = core
    const messages = new MessageStore(core)
    const shownMessages = new ShownMessages({ namespaces, clock, messages })
    const messageWaits = new Waits({ maxPerAddress: maxWaiters })
    messages.onChange((namespaceId) => messageWaits.changed(namespaceId))
    core.onRecheck(() => messageWaits.wakeAll())
    core.namespaceLife.addRemovalStep({
      name: 'waits',
      phase: 'waiting requests',
      remove: (id) => messageWaits.endTopic(id),
    })
    core.namespaceLife.addRemovalStep({
      name: 'messages',
      phase: 'data',
      remove: (id) => messages.removeNamespace(id),
    })
    return {
      resources: [
        ...(edition === 'enterprise' ? messageResources({ messages, clock, history: core.history }) : []),
        ...frontEndResources({
          edition,
          messages,
          shownMessages,
          messageWaits,
          namespaces,
          clock,
          access,
          identities,
          confirmCopies,
          isSealed: () => core.barrier.isSealed(),
        }),
      ],
      onClosing: () => messageWaits.endAll(),
    }
  },
})
