import { cloneElement, isValidElement, type ReactNode } from 'react'
import { visible } from './visible.ts'

/** The texts of some content as `visible` shows them, also inside of its elements. */
export function visibleNode(node: ReactNode): ReactNode {
  if (typeof node === 'string') return visible(node)
  if (Array.isArray(node)) {
    const shown = node.map(visibleNode)
    return shown.every((one, index) => one === node[index]) ? node : shown
  }
  if (!isValidElement<{ readonly children?: ReactNode }>(node)) return node
  const { children } = node.props
  const shown = visibleNode(children)
  if (shown === children) return node
  // several children stay as they were given, so that they need no keys
  return Array.isArray(shown) ? cloneElement(node, {}, ...shown) : cloneElement(node, {}, shown)
}
