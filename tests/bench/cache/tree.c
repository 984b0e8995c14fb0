// SPDX-License-Identifier: GPL-2.0-only
#include "tree.h"

static bool is_before(const struct object *object, uint64_t due, uint64_t turn)
{
	return object->due < due || (object->due == due && object->turn < turn);
}

/* Splits a tree into the objects before @object and those after it. */
static void split(struct object *root, const struct object *object, struct object **before,
		  struct object **after)
{
	while (root) {
		if (is_before(root, object->due, object->turn)) {
			*before = root;
			before = &root->child[1];
			root = *before;
		} else {
			*after = root;
			after = &root->child[0];
			root = *after;
		}
	}
	*before = NULL;
	*after = NULL;
}

/* An object's heat is random: so the tree is about as deep as a balanced one. */
void tree_add(struct object **root, struct object *object)
{
	while (*root && (*root)->heat >= object->heat)
		root = &(*root)->child[is_before(*root, object->due, object->turn)];
	split(*root, object, &object->child[0], &object->child[1]);
	*root = object;
}

/* The tree must have the object. */
void tree_del(struct object **root, struct object *object)
{
	struct object *before = object->child[0], *after = object->child[1];

	while (*root != object)
		root = &(*root)->child[is_before(*root, object->due, object->turn)];
	while (before && after) {
		if (before->heat >= after->heat) {
			*root = before;
			root = &before->child[1];
			before = *root;
		} else {
			*root = after;
			root = &after->child[0];
			after = *root;
		}
	}
	*root = before ? before : after;
}

/* The first object behind this place, or NULL. */
struct object *tree_after(struct object *root, uint64_t due, uint64_t turn)
{
	struct object *best = NULL;

	while (root) {
		if (is_before(root, due, turn) || (root->due == due && root->turn == turn)) {
			root = root->child[1];
		} else {
			best = root;
			root = root->child[0];
		}
	}
	return best;
}

struct object *tree_first(struct object *root)
{
	while (root && root->child[0])
		root = root->child[0];
	return root;
}
